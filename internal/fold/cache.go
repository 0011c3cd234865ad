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
		s.ratio("cache_planned", planned, plannedIn, plannedRows, noBlocks)
		s.ratio("cache_reported", cached, in, rows, silent)
		s.ratio("cache_coverage", covered, o, o, noOK)
		s.keep("cache_gap", allCached, allIn)
		s.keep("cache_gap_planned", allExpected, allPlanned)
		s.set("cache_gap", share(allCached, allIn)-share(allExpected, allPlanned), all, "no row has both sides")
		s.ratio("cache_excess", excess, excessIn, excessRows, "no row has both sides")
		s.none("cache_server", "no counters of the server")
		s.none("server_gap", "no counters of the server")
	}}
}
