package fold

// The times of one request, each null when a stamp it needs is. Every formula has
// its name in metricTable and its words in docs/metrics.md.

func (r *rec) lag() int64     { return minus(r.dispatched, r.due) }
func (r *rec) handoff() int64 { return minus(r.asked, r.dispatched) }
func (r *rec) sendLag() int64 { return minus(r.asked, r.due) }
func (r *rec) slip() int64    { return minus(r.due, r.scheduled) }
func (r *rec) lead() int64    { return minus(r.due, r.prepared) }

// dial is the time the peer took to accept a connection, 0 when none was opened.
func (r *rec) dial() int64 {
	if r.connect == null {
		return 0
	}
	return minus(either(r.tls, r.connect), either(r.dns, r.asked))
}

func (r *rec) dialTime() int64 {
	if r.connect == null {
		return null
	}
	return r.dial()
}

func (r *rec) connWait() int64 { return minus(minus(r.ready, r.asked), r.dial()) }
func (r *rec) upload() int64   { return minus(r.wrote, r.ready) }

// wire measures from the written request to t, with the dial.
func (r *rec) wire(t int64) int64 { return plus(minus(t, r.wrote), r.dial()) }

func (r *rec) ttfbUser() int64 { return minus(r.firstByte, r.due) }
func (r *rec) ttfbWire() int64 { return r.wire(r.firstByteKernel) }
func (r *rec) ttftUser() int64 { return minus(r.streamed(r.first), r.due) }
func (r *rec) ttftWire() int64 { return r.wire(r.streamed(r.firstKernel)) }
func (r *rec) ttftSent() int64 { return r.wire(r.streamed(r.first)) }
func (r *rec) ttfoUser() int64 { return minus(r.streamed(r.answer), r.due) }
func (r *rec) ttfoWire() int64 { return r.wire(r.streamed(r.answerKernel)) }
func (r *rec) ttfoSent() int64 { return r.wire(r.streamed(r.answer)) }

// streamed is t, or null where the answer came whole: when its first token was made
// nobody saw.
func (r *rec) streamed(t int64) int64 {
	if r.whole {
		return null
	}
	return t
}

// e2eUser ends at the last token, or at the end for an endpoint without tokens.
func (r *rec) e2eUser() int64 { return minus(r.lastMoment(), r.due) }
func (r *rec) e2eWire() int64 { return r.wire(r.lastKernel) }
func (r *rec) e2eSent() int64 { return r.wire(r.lastMoment()) }

func (r *rec) lastMoment() int64 {
	if r.last == null && r.first == null {
		return r.end
	}
	return r.last
}

func (r *rec) closeUser() int64  { return minus(r.end, r.due) }
func (r *rec) decodeUser() int64 { return minus(r.last, r.first) }
func (r *rec) decodeWire() int64 { return minus(r.lastKernel, r.firstKernel) }
func (r *rec) think() int64      { return minus(r.answer, r.first) }

// later is the number of tokens after those of the first chunk; null when the
// server did not count, or the answer came in one chunk.
func (r *rec) later() int64 {
	if r.out == null || r.source == sourceEvents || r.source == sourceNone || r.oneChunk() {
		return null
	}
	return r.out - max(either(r.firstChunk, 1), 0)
}

func (r *rec) oneChunk() bool { return r.tokens != null && r.tokens < 2 }

func (r *rec) tpotUser() int64 { return ratio(r.decodeUser(), 1, r.later()) }
func (r *rec) tpotWire() int64 { return ratio(r.decodeWire(), 1, r.later()) }

// tpotApplies is false for an answer that has no token after its first chunk.
func (r *rec) tpotApplies() bool {
	return !r.oneChunk() && (r.out == null || r.out-either(r.firstChunk, 1) > 0)
}

// iclApplies is false for an answer in fewer than two chunks.
func (r *rec) iclApplies() bool { return !r.oneChunk() }

// speed is in thousandths of a token per second.
func (r *rec) speed() int64 {
	later := r.later()
	if later == null || later <= 0 {
		return null
	}
	return ratio(later, 1_000_000_000_000, r.decodeUser())
}

func (r *rec) ntpot() int64 { return ratio(r.e2eUser(), 1, r.out) }

// prefillSpeed is in thousandths of a token per second.
func (r *rec) prefillSpeed() int64 {
	if r.in == null {
		return null
	}
	return ratio(max(0, r.in-max(0, either(r.cached, 0))), 1_000_000_000_000, r.ttftWire())
}

func (r *rec) iclMean() int64 {
	if r.gapN == 0 {
		return null
	}
	return roundDiv(r.gapSum, 1, int64(r.gapN))
}

// clientTime is the generator's part of the time to first token. Without a kernel
// stamp the way from the kernel to the parser is not in it.
func (r *rec) clientTime() int64 {
	if r.first == null {
		return null
	}
	t := plus(r.sendLag(), r.connWait())
	if r.firstKernel != null {
		t = plus(t, r.first-r.firstKernel)
	}
	return t
}

func (r *rec) timeToFailure() int64 {
	if r.ok() || r.outcome == outcomePlanned || !r.wasSent() {
		return null
	}
	return r.closeUser()
}

// sentAt is the instant of sending, moved back by as much lateness as is allowed:
// a burst that sits just before a whole second must not slip into the next window.
func (r *rec) sentAt() int64 {
	if !r.wasSent() || r.asked == null {
		return null
	}
	lag := r.sendLag()
	if lag == null {
		return r.asked
	}
	return r.asked - min(max(lag, 0), sentSlack)
}

// sentSlack is the lateness that is not loss of load, ns.
const sentSlack = 10_000_000
