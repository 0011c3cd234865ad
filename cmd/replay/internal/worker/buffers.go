package worker

import "sync"

// keptBodies bounds the memory of sent bodies that is kept for others, bytes.
const keptBodies = 8 << 20

// buffers keeps the memory of bodies that were sent. The zero value is ready.
type buffers struct {
	mu   sync.Mutex
	free [][]byte
	size int // bytes of all
}

// get returns an empty buffer, nil when there is none.
func (b *buffers) get() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.free)
	if n == 0 {
		return nil
	}
	p := b.free[n-1]
	b.free[n-1] = nil
	b.free = b.free[:n-1]
	b.size -= cap(p)
	return p[:0]
}

// put takes a buffer back.
func (b *buffers) put(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size+cap(p) > keptBodies {
		return
	}
	b.size += cap(p)
	b.free = append(b.free, p)
}
