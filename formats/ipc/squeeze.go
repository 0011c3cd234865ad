package ipc

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
)

// squeezer turns an uncompressed record-batch message into one whose buffers are zstd.
//
// Arrow's own writer compresses at klauspost's default level, which can't be chosen. Neither
// that nor the fastest one is smaller on all lists of small integers, 8 bytes each: on
// recorded runs of the epoll engine the default takes a request of 500 tokens from 1,489
// bytes to 1,107 (1,000 paced streams) and from 1,530 to 1,180 (2,500), and loses 2 to 8 %
// where the differences are noise. On most other columns it saves few bytes, and was 7 % of
// a worker's CPU time (perf, answers that are not streamed). So each buffer of a schema
// gets the fastest level unless the default was clearly smaller when both were last tried.
// Buffers are padded to 8 bytes, which is what Arrow asks for, not to 64.
type squeezer struct {
	levels  [2]*zstd.Encoder
	best    []int  // by buffer, index into levels
	batches int    // squeezed so far
	model   []byte // metadata of a compressed batch of the same schema, to be filled in
	spare   []byte
}

// Indices into levels.
const (
	thorough = 0
	fast     = 1
)

const (
	// worth is the part of a buffer, one in so many bytes, that the thorough level has to save.
	worth = 20
	// costly is from where on a buffer's time counts, bytes.
	costly = 4 << 10
)

// tryEvery is how many batches keep the levels that were found: trying both costs as much
// again as compressing.
const tryEvery = 16

// newSqueezer takes any compressed message of the schema that has rows. Batches of one
// schema have the same number of arrays and buffers: their metadata differs in numbers only.
func newSqueezer(message []byte) *squeezer {
	s := &squeezer{model: Frame{Bytes: message, meta: metaLen(message)}.Meta()}
	for i, level := range []zstd.EncoderLevel{zstd.SpeedDefault, zstd.SpeedFastest} {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		if err != nil {
			internal("zstd: %v", err)
		}
		s.levels[i] = enc
	}
	s.best = make([]int, layoutOf(s.model).bufN)
	return s
}

func metaLen(message []byte) int { return int(binary.LittleEndian.Uint32(message[4:])) }

// layout is where the numbers of a batch's metadata stand.
type layout struct {
	bodyLength, length      int
	nodes, nodeN, buf, bufN int
}

func layoutOf(meta []byte) layout {
	f := flat{b: meta}
	message := f.ref(0)
	batch := f.child(message, 2)
	var l layout
	l.bodyLength, l.length = f.slot(message, 3), f.slot(batch, 0)
	l.nodes, l.nodeN = f.vector(batch, 1, 16)
	l.buf, l.bufN = f.vector(batch, 2, 16)
	if f.bad || l.bodyLength == 0 || l.length == 0 {
		internal("a batch without length or body")
	}
	return l
}

// squeeze returns the compressed form of a message that Arrow has just made.
func (s *squeezer) squeeze(plain []byte) []byte {
	from := Frame{Bytes: plain, meta: metaLen(plain)}
	src, body := from.Meta(), from.Body()
	old, at := layoutOf(src), layoutOf(s.model)
	if old.nodeN != at.nodeN || old.bufN != at.bufN {
		internal("a batch of %d arrays and %d buffers, want %d and %d", old.nodeN, old.bufN, at.nodeN, at.bufN)
	}
	out := make([]byte, 0, 8+len(s.model)+len(body)/4)
	out = binary.LittleEndian.AppendUint32(out, continuation)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(s.model)))
	out = append(out, s.model...)
	start := len(out)
	put := func(p int, v int) { binary.LittleEndian.PutUint64(out[8+p:], uint64(v)) }
	copy(out[8+at.length:][:8], src[old.length:])
	copy(out[8+at.nodes:][:16*at.nodeN], src[old.nodes:])
	for i := range old.bufN {
		off := int(binary.LittleEndian.Uint64(src[old.buf+16*i:]))
		n := int(binary.LittleEndian.Uint64(src[old.buf+16*i+8:]))
		put(at.buf+16*i, len(out)-start)
		begin := len(out)
		if n > 0 {
			out = binary.LittleEndian.AppendUint64(out, uint64(n))
			out = s.encode(i, body[off:off+n], out)
		}
		put(at.buf+16*i+8, len(out)-begin)
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
	}
	put(at.bodyLength, len(out)-start)
	s.batches++
	return out
}

// encode appends the compressed form of buffer i.
func (s *squeezer) encode(i int, plain, out []byte) []byte {
	begin := len(out)
	out = s.levels[s.best[i]].EncodeAll(plain, out)
	if s.batches%tryEvery != 0 {
		return out
	}
	was := s.best[i]
	s.spare = s.levels[1-was].EncodeAll(plain, s.spare[:0])
	var sizes [2]int
	sizes[was], sizes[1-was] = len(out)-begin, len(s.spare)
	if sizes[1-was] < sizes[was] {
		s.best[i] = 1 - was
		out = append(out[:begin], s.spare...)
	}
	if len(plain) >= costly && sizes[fast]-sizes[thorough] <= sizes[fast]/worth {
		s.best[i] = fast
	}
	return out
}
