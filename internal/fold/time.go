package fold

// The times of the requests of a frame, each null when a stamp it needs is. Every formula has
// its name in metricTable and its words in docs/metrics.md.

// What follows from the columns of a row, behind them in a frame.
const (
	cU = recColumns + iota
	cLag
	cHandoff
	cSendLag
	cSlip
	cLead
	cDial
	cDialTime
	cConnWait
	cUpload
	cTTFBUser
	cTTFBWire
	cTTFTUser
	cTTFTWire
	cTTFTSent
	cTTFOUser
	cTTFOWire
	cTTFOSent
	cLastMoment
	cE2EUser
	cE2EWire
	cE2ESent
	cCloseUser
	cDecodeUser
	cDecodeWire
	cThink
	cLater
	cTPOTUser
	cTPOTWire
	cSpeed
	cNTPOT
	cPrefillSpeed
	cICLMean
	cFluid
	cClientTime
	cTimeToFailure
	cSentAt
	cFirstArrival
	cLastArrival
	cTPOTApplies
	cICLApplies
	cWorkerOrNull
	cInWindow
	cWereSent
	cUnix
	cMarks // no column: the marks are there
	cArrived
	cStreamed // a column that is needed for a moment
	allColumns
)

// derived returns a column that follows from others, and whether it is there already.
func (x *frame) derived(c int) (out *column, there bool) {
	there, x.have[c] = x.have[c], true
	return &x.v[c], there
}

// minus is a − b, under the name c.
func (x *frame) minus(c int, a, b *column) *column {
	out, there := x.derived(c)
	if !there {
		for i := range x.n {
			out[i] = minus(a[i], b[i])
		}
	}
	return out
}

// either is a, or b where a is null.
func (x *frame) either(c int, a, b *column) *column {
	out, there := x.derived(c)
	if !there {
		for i := range x.n {
			out[i] = either(a[i], b[i])
		}
	}
	return out
}

// orNull is a, with null in place of what is below 0.
func (x *frame) orNull(c int, a *column) *column {
	out, there := x.derived(c)
	if !there {
		for i := range x.n {
			if out[i] = a[i]; a[i] < 0 {
				out[i] = null
			}
		}
	}
	return out
}

// ratio is a·scale/b.
func (x *frame) ratio(c int, a *column, scale int64, b *column) *column {
	out, there := x.derived(c)
	if !there {
		for i := range x.n {
			out[i] = ratio(a[i], scale, b[i])
		}
	}
	return out
}

// u is the planned time, null when the row has none.
func (x *frame) u() *column { return x.either(cU, x.col(cDue), x.col(cScheduled)) }

func (x *frame) lag() *column     { return x.minus(cLag, x.col(cDispatched), x.col(cDue)) }
func (x *frame) handoff() *column { return x.minus(cHandoff, x.col(cAsked), x.col(cDispatched)) }
func (x *frame) sendLag() *column { return x.minus(cSendLag, x.col(cAsked), x.col(cDue)) }
func (x *frame) slip() *column    { return x.minus(cSlip, x.col(cDue), x.col(cScheduled)) }
func (x *frame) lead() *column    { return x.minus(cLead, x.col(cDue), x.col(cPrepared)) }

// dial is the time the peer took to accept a connection, 0 when none was opened.
func (x *frame) dial() *column {
	out, there := x.derived(cDial)
	if there {
		return out
	}
	connect, tls, dns, asked := x.col(cConnect), x.col(cTLS), x.col(cDNS), x.col(cAsked)
	for i := range x.n {
		if out[i] = 0; connect[i] != null {
			out[i] = minus(either(tls[i], connect[i]), either(dns[i], asked[i]))
		}
	}
	return out
}

func (x *frame) dialTime() *column {
	out, there := x.derived(cDialTime)
	if there {
		return out
	}
	connect, dial := x.col(cConnect), x.dial()
	for i := range x.n {
		if out[i] = null; connect[i] != null {
			out[i] = dial[i]
		}
	}
	return out
}

func (x *frame) connWait() *column {
	out, there := x.derived(cConnWait)
	if there {
		return out
	}
	ready, asked, dial := x.col(cReady), x.col(cAsked), x.dial()
	for i := range x.n {
		out[i] = minus(minus(ready[i], asked[i]), dial[i])
	}
	return out
}

func (x *frame) upload() *column { return x.minus(cUpload, x.col(cWrote), x.col(cReady)) }

// wire measures from the written request to t, with the dial.
func (x *frame) wire(c int, t *column) *column {
	out, there := x.derived(c)
	if there {
		return out
	}
	wrote, dial := x.col(cWrote), x.dial()
	for i := range x.n {
		out[i] = plus(minus(t[i], wrote[i]), dial[i])
	}
	return out
}

func (x *frame) ttfbUser() *column { return x.minus(cTTFBUser, x.col(cFirstByte), x.col(cDue)) }
func (x *frame) ttfbWire() *column { return x.wire(cTTFBWire, x.col(cFirstByteKernel)) }
func (x *frame) ttftUser() *column { return x.minus(cTTFTUser, x.streamed(cFirst), x.col(cDue)) }
func (x *frame) ttftWire() *column { return x.wire(cTTFTWire, x.streamed(cFirstKernel)) }
func (x *frame) ttftSent() *column { return x.wire(cTTFTSent, x.streamed(cFirst)) }
func (x *frame) ttfoUser() *column { return x.minus(cTTFOUser, x.streamed(cAnswer), x.col(cDue)) }
func (x *frame) ttfoWire() *column { return x.wire(cTTFOWire, x.streamed(cAnswerKernel)) }
func (x *frame) ttfoSent() *column { return x.wire(cTTFOSent, x.streamed(cAnswer)) }

// streamed is an instant, or null where the answer came whole: when its first token was made
// nobody saw. It is valid until the next call.
func (x *frame) streamed(c int) *column {
	t, marks := x.col(c), x.marks()
	if !x.wholes {
		return t
	}
	out := &x.v[cStreamed]
	for i := range x.n {
		if out[i] = t[i]; marks[i]&isWhole > 0 {
			out[i] = null
		}
	}
	return out
}

// e2eUser ends at the last token, or at the end for an endpoint without tokens.
func (x *frame) e2eUser() *column { return x.minus(cE2EUser, x.lastMoment(), x.col(cDue)) }
func (x *frame) e2eWire() *column { return x.wire(cE2EWire, x.col(cLastKernel)) }
func (x *frame) e2eSent() *column { return x.wire(cE2ESent, x.lastMoment()) }

func (x *frame) lastMoment() *column {
	out, there := x.derived(cLastMoment)
	if there {
		return out
	}
	last, first, end := x.col(cLast), x.col(cFirst), x.col(cEnd)
	for i := range x.n {
		if out[i] = last[i]; last[i] == null && first[i] == null {
			out[i] = end[i]
		}
	}
	return out
}

func (x *frame) closeUser() *column  { return x.minus(cCloseUser, x.col(cEnd), x.col(cDue)) }
func (x *frame) decodeUser() *column { return x.minus(cDecodeUser, x.col(cLast), x.col(cFirst)) }
func (x *frame) decodeWire() *column {
	return x.minus(cDecodeWire, x.col(cLastKernel), x.col(cFirstKernel))
}
func (x *frame) think() *column { return x.minus(cThink, x.col(cAnswer), x.col(cFirst)) }

// oneChunk says that an answer of so many token events came in one.
func oneChunk(tokens int64) bool { return tokens != null && tokens < 2 }

// later is the number of tokens after those of the first chunk; null when the
// server did not count, or the answer came in one chunk.
func (x *frame) later() *column {
	out, there := x.derived(cLater)
	if there {
		return out
	}
	n, tokens, firstChunk, flags := x.col(cOut), x.col(cTokens), x.col(cFirstChunk), x.col(cFlags)
	for i := range x.n {
		if source := sourceIn(flags[i]); n[i] == null || source == sourceEvents || source == sourceNone || oneChunk(tokens[i]) {
			out[i] = null
			continue
		}
		out[i] = n[i] - max(either(firstChunk[i], 1), 0)
	}
	return out
}

func (x *frame) tpotUser() *column { return x.ratio(cTPOTUser, x.decodeUser(), 1, x.later()) }
func (x *frame) tpotWire() *column { return x.ratio(cTPOTWire, x.decodeWire(), 1, x.later()) }

// tpotApplies is 0 for an answer that has no token after its first chunk, else 1.
func (x *frame) tpotApplies() *column {
	out, there := x.derived(cTPOTApplies)
	if there {
		return out
	}
	n, tokens, firstChunk := x.col(cOut), x.col(cTokens), x.col(cFirstChunk)
	for i := range x.n {
		out[i] = bit(!oneChunk(tokens[i]) && (n[i] == null || n[i]-either(firstChunk[i], 1) > 0))
	}
	return out
}

// iclApplies is 0 for an answer in fewer than two chunks, else 1.
func (x *frame) iclApplies() *column {
	out, there := x.derived(cICLApplies)
	if there {
		return out
	}
	for i, n := range x.col(cTokens)[:x.n] {
		out[i] = bit(!oneChunk(n))
	}
	return out
}

// speed is in thousandths of a token per second.
func (x *frame) speed() *column {
	out, there := x.derived(cSpeed)
	if there {
		return out
	}
	later, decode := x.later(), x.decodeUser()
	for i := range x.n {
		if out[i] = null; later[i] != null && later[i] > 0 {
			out[i] = ratio(later[i], 1_000_000_000_000, decode[i])
		}
	}
	return out
}

func (x *frame) ntpot() *column { return x.ratio(cNTPOT, x.e2eUser(), 1, x.col(cOut)) }

// prefillSpeed is in thousandths of a token per second.
func (x *frame) prefillSpeed() *column {
	out, there := x.derived(cPrefillSpeed)
	if there {
		return out
	}
	in, cached, ttft := x.col(cIn), x.col(cCached), x.ttftWire()
	for i := range x.n {
		if out[i] = null; in[i] != null {
			out[i] = ratio(max(0, in[i]-max(0, either(cached[i], 0))), 1_000_000_000_000, ttft[i])
		}
	}
	return out
}

func (x *frame) iclMean() *column {
	out, there := x.derived(cICLMean)
	if there {
		return out
	}
	n, sum := x.col(cGapN), x.col(cGapSum)
	for i := range x.n {
		if out[i] = null; n[i] != 0 {
			out[i] = roundDiv(sum[i], 1, n[i])
		}
	}
	return out
}

func (x *frame) iclP99() *column { return x.col(cGapP99) }
func (x *frame) iclMax() *column { return x.col(cGapMax) }

// clientTime is the generator's part of the time to first token. Without a kernel
// stamp the way from the kernel to the parser is not in it.
func (x *frame) clientTime() *column {
	out, there := x.derived(cClientTime)
	if there {
		return out
	}
	first, kernel, lag, wait := x.col(cFirst), x.col(cFirstKernel), x.sendLag(), x.connWait()
	for i := range x.n {
		if first[i] == null {
			out[i] = null
			continue
		}
		t := plus(lag[i], wait[i])
		if kernel[i] != null {
			t = plus(t, first[i]-kernel[i])
		}
		out[i] = t
	}
	return out
}

func (x *frame) timeToFailure() *column {
	out, there := x.derived(cTimeToFailure)
	if there {
		return out
	}
	marks, closed := x.marks(), x.closeUser()
	for i := range x.n {
		if out[i] = null; marks[i]&(isOK|isCut|isSent) == isSent {
			out[i] = closed[i]
		}
	}
	return out
}

// sentAt is the instant of sending, moved back by as much lateness as is allowed:
// a burst that sits just before a whole second must not slip into the next window.
func (x *frame) sentAt() *column {
	out, there := x.derived(cSentAt)
	if there {
		return out
	}
	marks, asked, lag := x.marks(), x.col(cAsked), x.sendLag()
	for i := range x.n {
		switch {
		case marks[i]&isSent == 0 || asked[i] == null:
			out[i] = null
		case lag[i] == null:
			out[i] = asked[i]
		default:
			out[i] = asked[i] - min(max(lag[i], 0), sentSlack)
		}
	}
	return out
}

// sentSlack is the lateness that is not loss of load, ns.
const sentSlack = 10_000_000

// firstArrival is the arrival of the first token, from the kernel where it said so.
func (x *frame) firstArrival() *column {
	return x.either(cFirstArrival, x.col(cFirstKernel), x.col(cFirst))
}

// lastArrival is that of the last.
func (x *frame) lastArrival() *column {
	return x.either(cLastArrival, x.col(cLastKernel), x.col(cLast))
}

// arrived are the tokens that arrived in the window.
func (x *frame) arrived() *column {
	out, there := x.derived(cArrived)
	switch {
	case there:
	case x.s.arrived == nil:
		*out = column{}
	case x.block != nil:
		copy(out[:x.n], x.s.arrived[x.first:])
	default:
		for _, p := range x.picks.picks {
			out[p.at] = x.s.arrived[p.row]
		}
	}
	return out
}
