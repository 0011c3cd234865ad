package run

import (
	"unicode/utf8"

	"hydrant/formats/ipc"
)

const (
	// MaxBatch is the number of rows after which a batch is full.
	MaxBatch = 4096
	// maxBatchSize is the size of lists and text at which a batch is full whatever
	// its rows, bytes: 500 answers of 500 chunks. A reader holds one batch in memory,
	// so this bounds what long answers cost it; runs of such answers are 1 % larger
	// than in batches of 32 MiB, in those of 1 MiB 5 %.
	maxBatchSize = 4 << 20
	// maxError is how much of an error text is kept, bytes.
	maxError = 4096
)

// Batch is one encoded record-batch message of table requests.
type Batch struct {
	Message []byte
	Rows    int64
}

// Encoder gathers finished requests and encodes them as one message, in the
// worker that owns them. One goroutine owns it; its builders are reused.
type Encoder struct {
	e   *ipc.Encoder[Request]
	ids []int64
}

// NewEncoder returns an empty encoder.
func NewEncoder() *Encoder {
	return &Encoder{e: ipc.NewEncoder(Columns[:])}
}

// Append adds one row and keeps nothing of it. Of Error the first 4 KiB count.
func (e *Encoder) Append(r *Request) {
	if len(r.Error) > maxError {
		cut := *r
		n := maxError
		for n > maxError-utf8.UTFMax && !utf8.RuneStart(cut.Error[n]) {
			n--
		}
		cut.Error = cut.Error[:n]
		r = &cut
	}
	e.e.Append(r)
	e.ids = append(e.ids, r.RequestID)
}

// Len returns the number of rows gathered.
func (e *Encoder) Len() int { return e.e.Len() }

// Full reports whether the batch should be taken before the next row.
func (e *Encoder) Full() bool { return e.e.Len() >= MaxBatch || e.e.Size() >= maxBatchSize }

// Batch encodes the rows gathered and starts anew. ids are their request ids in
// row order, valid until the next Append.
func (e *Encoder) Batch() (b Batch, ids []int64, err error) {
	m, err := e.e.Encode(false)
	if err != nil {
		return Batch{}, nil, err
	}
	ids = e.ids
	e.ids = e.ids[:0]
	return Batch{Message: m.Bytes, Rows: m.Rows}, ids, nil
}
