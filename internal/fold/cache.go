package fold

// cache compares what the plan could reuse with what the server says it did.
func (f *fold) cache() view {
	var planned, plannedIn, plannedRows int64
	var cached, in, rows, o, covered int64
	var all, allCached, allIn, allPlanned, allExpected, excessRows, excess, excessIn int64
	return view{func(r *rec) {
		if !r.inWindow {
			return
		}
		if r.expected != null && r.plannedIn != null {
			plannedRows++
			planned += r.expected
			plannedIn += r.plannedIn
		}
		if !r.ok() {
			return
		}
		o++
		if r.cached == null {
			return
		}
		covered++
		if r.in == null {
			return
		}
		rows++
		cached += r.cached
		in += r.in
		if r.expected == null {
			return
		}
		excessRows++
		excess += r.cached - r.expected
		excessIn += r.in
		if r.plannedIn != null {
			all++
			allCached += r.cached
			allIn += r.in
			allExpected += r.expected
			allPlanned += r.plannedIn
		}
	}, func() {
		s := f.sheet
		const noBlocks, silent = "the plan has no block ids", "the server does not report cached tokens"
		s.set("cache_planned", share(planned, plannedIn), plannedRows, noBlocks)
		s.set("cache_reported", share(cached, in), rows, silent)
		s.set("cache_coverage", share(covered, o), o, noOK)
		s.set("cache_gap", share(allCached, allIn)-share(allExpected, allPlanned), all, "no row has both sides")
		s.set("cache_excess", share(excess, excessIn), excessRows, "no row has both sides")
		s.none("cache_server", "no counters of the server")
		s.none("server_gap", "no counters of the server")
	}}
}
