package traces

import (
	"math"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

var azureFormat = Format{
	Name:  "azure",
	Usage: "from the CSV of Azure's LLM inference traces, 2023 and 2024",
	Text: `Columns: TIMESTAMP (date and time, UTC where no offset stands behind it),
ContextTokens, GeneratedTokens. Time 0 is the first row. The trace has no sessions,
block ids or models: every prompt is private.

  tracegen azure AzureLLMInferenceTrace_code.csv -o code.sched.zst
  tracegen azure AzureLLMInferenceTrace_code.csv --window 10m:20m | replay --sim default | reduce`,
	Options: []string{"strict"},
	Sniff:   func(head []byte, _ []string) bool { return hasColumns(head, azure.columns...) },
	Read:    func(f Input, o Options) (*Trace, error) { return azure.read(f, o) },
}

var vidurFormat = Format{
	Name:  "vidur",
	Usage: "from Vidur's CSV of arrivals and lengths",
	Text: `Columns: arrived_at (s), num_prefill_tokens, num_decode_tokens. Time 0 is that of
the file. Times are rounded to 1 us, which takes the noise of floats away. The
trace has no sessions, block ids or models: every prompt is private.

  tracegen vidur splitwise_code.csv -o code.sched.zst
  tracegen vidur splitwise_code.csv --speed 10 | replay --sim default | reduce`,
	Options: []string{"strict"},
	Sniff:   func(head []byte, _ []string) bool { return hasColumns(head, vidur.columns...) },
	Read:    func(f Input, o Options) (*Trace, error) { return vidur.read(f, o) },
}

// arrivals is a CSV format whose rows are a time and two lengths.
type arrivals struct {
	columns []string // time, input, output
	time    func(column, cell string) (ns int64, _ *jsonl.Fault)
	dated   bool // times count from far away, so that the first row is time 0
	quantum int64
}

var azure = arrivals{
	columns: []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
	time: func(column, cell string) (int64, *jsonl.Fault) {
		ns, ok := wallClock(cell)
		if !ok {
			return 0, &jsonl.Fault{What: column, Got: formats.Clip(cell), Want: "YYYY-MM-DD HH:MM:SS[.fraction][+HH:MM], a day of 1970 to 2262"}
		}
		return ns, nil
	},
	dated:   true,
	quantum: 1_000,
}

var vidur = arrivals{
	columns: []string{"arrived_at", "num_prefill_tokens", "num_decode_tokens"},
	time:    func(column, cell string) (int64, *jsonl.Fault) { return cellTime(column, cell, grainUS) },
	quantum: 1_000,
}

// read reads a trace. Errors are *formats.SyntaxError or *formats.TruncatedError with
// the line, or those of the input and of the temporary file.
func (a arrivals) read(f Input, o Options) (*Trace, error) {
	in := newIntake(f.Place, o.Strict)
	rows := newStore(in)
	zero := int64(math.MaxInt64)
	err := in.table(f.R, f.Name, a.columns, nil, func(cells []string) (*jsonl.Fault, error) {
		at, fault := a.time(a.columns[0], cells[0])
		if fault != nil {
			return fault, nil
		}
		r := schedule.Request{AtNS: formats.Some(at), Context: schedule.Whole}
		for i, length := range []*formats.Int{&r.InputTokens, &r.OutputTokens} {
			if *length, fault = cellLength(a.columns[i+1], cells[i+1]); fault != nil {
				return fault, nil
			}
			if !length.Valid {
				return &jsonl.Fault{What: a.columns[i+1], Got: "nothing", Want: "a whole number of at least 0"}, nil
			}
		}
		in.time(at)
		in.n++
		zero = min(zero, at)
		return nil, rows.single(at, in.n, &r)
	})
	if err == nil {
		err = in.some()
	}
	if err != nil {
		rows.close()
		return nil, err
	}
	if !a.dated {
		zero = 0
	}
	next, err := rows.requests()
	if err != nil {
		rows.close()
		return nil, err
	}
	return in.trace(a.quantum, nil, from(zero, next), rows.close), nil
}

// from makes zero, in ns, the time 0 of requests.
func from(zero int64, next func() (*schedule.Request, error)) func() (*schedule.Request, error) {
	return func() (*schedule.Request, error) {
		r, err := next()
		if err == nil {
			r.AtNS.V -= zero
		}
		return r, err
	}
}
