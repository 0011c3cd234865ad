package wire

// keptBuffer bounds each buffer that is kept for the next request, bytes.
const keptBuffer = 1 << 10

// small returns b empty where it may be kept, nil where it is too large.
func small(b []byte) []byte {
	if cap(b) > keptBuffer {
		return nil
	}
	return b[:0]
}
