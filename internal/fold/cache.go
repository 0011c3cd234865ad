package fold

// cache compares what the plan could reuse with what the server says it did.
func (f *fold) cache() view {
	var planned, plannedIn, plannedRows int64
	var cached, in, rows, o, covered int64
	var all, allCached, allIn, allPlanned, allExpected, excessRows, excess, excessIn int64
	return view{func(x *frame) {
		marks, expected, plan, told, ins := x.marks(), x.col(cExpected), x.col(cPlannedIn), x.col(cCached), x.col(cIn)
		for i := range x.n {
			if marks[i]&isPlanned == 0 {
				continue
			}
			if expected[i] != null && plan[i] != null {
				plannedRows++
				planned += expected[i]
				plannedIn += plan[i]
			}
			if marks[i]&isOK == 0 {
				continue
			}
			o++
			if told[i] == null {
				continue
			}
			covered++
			if ins[i] == null {
				continue
			}
			rows++
			cached += told[i]
			in += ins[i]
			if expected[i] == null {
				continue
			}
			excessRows++
			excess += told[i] - expected[i]
			excessIn += ins[i]
			if plan[i] != null {
				all++
				allCached += told[i]
				allIn += ins[i]
				allExpected += expected[i]
				allPlanned += plan[i]
			}
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
