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

// less returns what was carried since b.
func (t traffic) less(b traffic) traffic {
	t.reads, t.received, t.sent = t.reads-b.reads, t.received-b.received, t.sent-b.sent
	t.counted = t.counted && b.counted
	t.tcp.SegmentsIn -= b.tcp.SegmentsIn
	t.tcp.Retransmits -= b.tcp.Retransmits
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
