package traces

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hydrant/formats/schedule"
)

// shared returns the length of the common prefix of two lists of ids, and that of the first.
func shared(a, b []schedule.Run) (common, of int64) {
	for _, run := range a {
		of += run[1]
	}
	for i := range min(len(a), len(b)) {
		if a[i][0] != b[i][0] {
			break
		}
		common += min(a[i][1], b[i][1])
		if a[i][1] != b[i][1] {
			break
		}
	}
	return common, of
}

// What is irregular in the published traces, and how often: the reader has seen it all
// and kept it.
func TestWekaIrregularities(t *testing.T) {
	counts := map[string]int{}
	where := map[string][]string{}
	note := func(what string, tr *wekaTrace, r *wekaRequest) {
		where[what] = append(where[what], fmt.Sprintf("%s[%d]", strings.TrimPrefix(tr.id, "trace_"), r.at))
	}
	eachWeka(t, func(container string, _ []byte, tr *wekaTrace) {
		traces := map[string]bool{}
		models := map[string]bool{}
		var before *wekaRequest
		seen, parents, agents := &prefix{}, &prefix{}, &prefix{}
		top, ordered := int64(0), true
		for i := range tr.requests {
			r := &tr.requests[i]
			runs := tr.runs[r.from:r.to]
			if r.agent < 0 {
				models[r.model] = true
			}
			own, owner := &prefix{}, agents
			if r.agent < 0 {
				owner = parents
			}
			for _, run := range runs {
				for id := run[0]; id < run[0]+run[1]; id++ {
					if !own.add(id) {
						counts["an id twice in a prompt"]++
					}
					owner.add(id)
					if seen.add(id) {
						ordered = ordered && id > top
						top = max(top, id)
					}
				}
			}
			if r.out == 0 {
				note("out 0", tr, r)
			}
			if r.agent >= 0 {
				continue
			}
			if !r.api.Valid {
				traces["api_time absent"] = true
				counts["api_time absent "+container]++
			}
			if before != nil {
				counts["pairs"]++
				common, of := shared(tr.runs[before.from:before.to], runs)
				switch {
				case common == of:
					counts["extends"]++
				case 2*common >= of:
					counts["keeps half"]++
				case common > 0:
					counts["keeps less"]++
				default:
					counts["keeps nothing"]++
				}
				if slices.Equal(tr.runs[before.from:before.to], runs) && r.in != before.in {
					note("same ids, other in", tr, r)
				}
				if r.in < before.in+before.out {
					counts["in below in + out before"]++
				}
				if r.in < before.in {
					counts["shrinks"]++
					traces["shrinks"] = true
				}
				if 2*r.in < before.in {
					counts["shrinks by half"]++
					traces["shrinks by half"] = true
				}
				switch gap := r.t - before.t - before.api.V; {
				case gap < -wekaQuantum:
					note("overlaps", tr, r)
				case gap < 0:
					counts["rounded"]++
					traces["rounded"] = true
				}
			}
			before = r
		}
		counts["ids of parent and subagent"] += int(parents.distinct + agents.distinct - seen.distinct)
		if seen.distinct != top {
			where["holes"] = append(where["holes"], strings.TrimPrefix(tr.id, "trace_"))
		}
		traces["not in first-seen order"] = !ordered || seen.distinct != top
		traces["several models of the parent"] = len(models) > 1
		for what, yes := range traces {
			if yes {
				counts["traces: "+what]++
			}
		}
	})
	for what, want := range map[string]int{
		"api_time absent file": 463, "api_time absent bundle": 1420, "traces: api_time absent": 116,
		"rounded": 19, "traces: rounded": 13, "shrinks": 204, "traces: shrinks": 109, "shrinks by half": 90, "traces: shrinks by half": 59,
		"pairs": 23201, "extends": 21651, "keeps half": 1144, "keeps less": 376, "keeps nothing": 30, "in below in + out before": 2543,
		"traces: not in first-seen order": 15, "traces: several models of the parent": 12, "an id twice in a prompt": 0, "ids of parent and subagent": 0,
	} {
		if counts[what] != want {
			t.Errorf("%s: %d; want %d", what, counts[what], want)
		}
	}
	for what, want := range map[string]string{
		"out 0":              "0310[1] 0310[83] 0316[37] 0318[43] 0340[3] 0158[33] 0540[53] 0544[12]",
		"same ids, other in": "0316[38] 0582[13] 0514[29] 0528[62]",
		"overlaps":           "0300[3] 0300[6] 0300[9] 0338[57]",
		"holes":              "0004 0016 0022 0252 0392 0416 0436",
	} {
		if got := strings.Join(where[what], " "); got != want {
			t.Errorf("%s: %s; want %s", what, got, want)
		}
	}
}
