package wire

import (
	"hydrant/cmd/replay/internal/kernel"
	"hydrant/formats"
	"hydrant/formats/run"
)

// unstamped stands for an arrival that the kernel did not stamp.
const unstamped = -1 << 63

// counts is what a connection has carried, as this side counts.
type counts struct{ reads, received, sent int64 }

// traffic is what a connection has carried.
type traffic struct {
	counts
	tcp     kernel.TCPInfo
	counted bool // tcp is known
}

// mark is where the account of a request begins.
type mark struct {
	counts
	segments, retransmits int64 // of tcp
	counted               bool  // they are known
}

func (t *traffic) mark() mark { return mark{t.counts, t.tcp.SegmentsIn, t.tcp.Retransmits, t.counted} }

// since returns what was carried from m on.
func (t traffic) since(m mark) traffic {
	t.reads, t.received, t.sent = t.reads-m.reads, t.received-m.received, t.sent-m.sent
	t.counted = t.counted && m.counted
	t.tcp.SegmentsIn -= m.segments
	t.tcp.Retransmits -= m.retransmits
	return t
}

// fill writes the wire columns of a request that had the connection to itself.
func (t traffic) fill(row *run.Request) {
	row.BytesSent = formats.Some(t.sent)
	row.BytesReceived = formats.Some(t.received)
	row.Reads = formats.Some(t.reads)
	if t.counted {
		row.SegmentsIn = formats.Some(t.tcp.SegmentsIn)
		row.Retransmits = formats.Some(t.tcp.Retransmits)
		row.RTTUS = formats.Some(t.tcp.RTTUS)
	}
}
