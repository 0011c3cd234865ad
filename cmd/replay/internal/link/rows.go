package link

import (
	"encoding/binary"

	"hydrant/formats"
	"hydrant/formats/run"
)

// Stamp says that a request was dispatched: the parent makes a row of it when the
// worker dies before it has sent one.
type Stamp struct {
	ID           int64
	DueNS        int64
	DispatchedNS int64
}

// AppendStamps appends the binary form of stamps.
func AppendStamps(b []byte, stamps []Stamp) []byte {
	b = binary.AppendUvarint(b, uint64(len(stamps)))
	for _, s := range stamps {
		b = binary.AppendVarint(b, s.ID)
		b = binary.AppendVarint(b, s.DueNS)
		b = binary.AppendVarint(b, s.DispatchedNS-s.DueNS)
	}
	return b
}

// DecodeStamps reads what AppendStamps wrote.
func DecodeStamps(b []byte) ([]Stamp, error) {
	d := decoder{b: b}
	stamps := make([]Stamp, d.count(3))
	for i := range stamps {
		s := &stamps[i]
		s.ID, s.DueNS = d.varint(), d.varint()
		s.DispatchedNS = s.DueNS + d.varint()
	}
	return stamps, d.end()
}

// Rows is the envelope around a record batch of table requests: what the parent needs
// to know of each row, so that it never decodes the batch.
type Rows struct {
	Rows    []Row
	Message []byte // the encoded record batch, with the same rows in the same order
}

// Row is what the envelope says of one row.
type Row struct {
	ID            int64
	Outcome       uint8 // index into run.Outcomes
	Dispatched    bool
	SendLagNS     formats.Int // conn_asked_ns (else dispatched_ns) − due_ns
	BytesSent     int64
	BytesReceived int64
	TokenEvents   int64
}

// RowOf returns the envelope's entry for r.
func RowOf(r *run.Request) Row {
	e := Row{ID: r.RequestID, Outcome: outcome(r.Outcome), Dispatched: r.DispatchedNS.Valid,
		BytesSent: r.BytesSent.V, BytesReceived: r.BytesReceived.V, TokenEvents: r.TokenEvents.V}
	if e.SendLagNS = r.ConnAskedNS.Minus(r.DueNS); !e.SendLagNS.Valid {
		e.SendLagNS = r.DispatchedNS.Minus(r.DueNS)
	}
	return e
}

func outcome(name string) uint8 {
	for i, o := range run.Outcomes {
		if o == name {
			return uint8(i)
		}
	}
	panic("internal error: unknown outcome " + name)
}

// AppendRows appends the binary form of the entries; the message follows it.
func AppendRows(b []byte, rows []Row) []byte {
	b = binary.AppendUvarint(b, uint64(len(rows)))
	for _, r := range rows {
		b = binary.AppendVarint(b, r.ID)
		flags := r.Outcome << 1
		if r.Dispatched {
			flags |= 1
		}
		b = append(b, flags)
		b = appendInt(b, r.SendLagNS)
		b = binary.AppendVarint(b, r.BytesSent)
		b = binary.AppendVarint(b, r.BytesReceived)
		b = binary.AppendVarint(b, r.TokenEvents)
	}
	return b
}

// DecodeRows reads what AppendRows wrote, and the message behind it. Message is a part
// of b.
func DecodeRows(b []byte) (Rows, error) {
	d := decoder{b: b}
	out := Rows{Rows: make([]Row, d.count(6))}
	for i := range out.Rows {
		r := &out.Rows[i]
		r.ID = d.varint()
		if len(d.b) == 0 {
			return Rows{}, errJob
		}
		r.Outcome, r.Dispatched = d.b[0]>>1, d.b[0]&1 == 1
		d.b = d.b[1:]
		r.SendLagNS = d.null()
		r.BytesSent, r.BytesReceived, r.TokenEvents = d.varint(), d.varint(), d.varint()
		if int(r.Outcome) >= len(run.Outcomes) {
			d.bad = true
		}
	}
	if d.bad {
		return Rows{}, errJob
	}
	out.Message = d.b
	return out, nil
}
