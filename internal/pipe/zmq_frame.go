package pipe

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Every ZMQ message of ours is one frame of this layout, big endian. It never
// changes; another layout gets another magic.
//
//	 0  4  magic "hyd1"
//	 4  1  kind
//	 5  3  zero
//	 8  8  writer id, random per stream
//	16  8  sequence number: data and the end are 1, 2, 3 … without a gap
//	24  4  length of the payload
//	28  4  CRC32C of bytes 0 to 27 and the payload
//	32     payload
const (
	frameMagic  = "hyd1"
	frameHeader = 32
	maxPayload  = 256 << 10 // large enough that headers cost nothing, small enough to hold several
	maxMessage  = frameHeader + maxPayload
)

// Kinds of frame. "seq" is the header's sequence number.
const (
	kindHello = 1 // both ways, first: payload is the role and the version
	kindAdmit = 2 // reader: you are in
	kindData  = 3 // writer: the next bytes of the stream
	kindEnd   = 4 // writer: the stream is whole; payload is its length in bytes
	kindAbort = 5 // writer: the stream ends here and is not whole; payload says why
	kindAck   = 6 // reader: everything up to seq has been received
	kindDone  = 7 // reader: everything has been read; the answer to the end
	kindLeave = 8 // reader: I read no more; payload says why
	kindAlive = 9 // both ways: nothing to say
)

const (
	roleWriter   = 'w'
	roleReader   = 'r'
	protoVersion = 1
	maxReason    = 512 // bytes of text in an abort or a leave
)

type frame struct {
	kind    byte
	id      uint64
	seq     uint64
	payload []byte
}

// crcTable returns the polynomial of CRC32C; the package keeps one table per
// polynomial, so asking is cheap.
func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func frameSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:28], crcTable()), crcTable(), b[frameHeader:])
}

// append writes f to b.
func (f frame) append(b []byte) []byte {
	at := len(b)
	b = append(b, frameMagic...)
	b = append(b, f.kind, 0, 0, 0)
	b = binary.BigEndian.AppendUint64(b, f.id)
	b = binary.BigEndian.AppendUint64(b, f.seq)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.payload)))
	b = append(b, 0, 0, 0, 0)
	b = append(b, f.payload...)
	binary.BigEndian.PutUint32(b[at+28:], frameSum(b[at:]))
	return b
}

// parseFrame checks a whole message. The payload shares b's memory.
func parseFrame(b []byte) (frame, error) {
	if len(b) < frameHeader {
		return frame{}, fmt.Errorf("frame: got %d bytes, want at least %d", len(b), frameHeader)
	}
	if string(b[:4]) != frameMagic || b[5] != 0 || b[6] != 0 || b[7] != 0 {
		return frame{}, fmt.Errorf("frame: got %q, want the magic %q", b[:8], frameMagic)
	}
	if n := binary.BigEndian.Uint32(b[24:]); int64(n) != int64(len(b)-frameHeader) || n > maxPayload {
		return frame{}, fmt.Errorf("frame length: got %d, want %d", n, len(b)-frameHeader)
	}
	if got, want := frameSum(b), binary.BigEndian.Uint32(b[28:]); got != want {
		return frame{}, fmt.Errorf("frame CRC32C: got %08x, want %08x", got, want)
	}
	f := frame{b[4], binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), b[frameHeader:]}
	if f.kind < kindHello || f.kind > kindAlive {
		return frame{}, fmt.Errorf("frame kind: got %d, want %d to %d", f.kind, kindHello, kindAlive)
	}
	return f, nil
}
