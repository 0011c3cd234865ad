package wire

// Ring ends the present Sleep or the next one.
func (l *loop) Ring() {
	if !l.rung.Swap(true) && l.asleep.Load() {
		l.poll.ring()
	}
}

// post runs f on the loop's thread soon. Anybody may call it; after Close f is dropped.
func (l *loop) post(f func()) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.mail = append(l.mail, f)
	l.mailed.Store(true)
	if l.asleep.Load() {
		l.poll.ring()
	}
	l.mu.Unlock()
}

// open runs what was posted.
func (l *loop) open() {
	l.mu.Lock()
	mail := l.mail
	l.mail = nil
	l.mailed.Store(false)
	l.mu.Unlock()
	for _, f := range mail {
		f()
	}
}
