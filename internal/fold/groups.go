package fold

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// GroupKeys are the keys by which rows can be grouped, with what they hold.
var GroupKeys = [...]struct{ Name, Meaning string }{
	{"class", "class of the request"},
	{"model", "model it named"},
	{"turn", "position in its stream, from 0"},
	{"input-bucket", "planned input tokens, else those counted, between powers of two"},
	{"session", "session of the request"},
	{"worker", "worker process of its part"},
	{"outcome", "what became of it"},
	{"remote_addr", "peer"},
	{"file", "input that it stood in"},
}

const (
	// MaxGroups is the most groups that there may be.
	MaxGroups = 1000
	// fineGroups is the most whose sketches have 3 digits.
	fineGroups = 64
)

// groups are the rows by the values of the keys asked for.
type groups struct {
	at   []int32 // group of each row
	all  []*group
	made []summary.Group
}

// group is the rows that agree on all keys.
type group struct {
	*gapSketches
	values []string
	rows   []int32 // in order
}

// of returns the group of a row, nil when none was asked for.
func (g *groups) of(row int32) *group {
	if g.at == nil {
		return nil
	}
	return g.all[g.at[row]]
}

// group sorts the rows into groups.
func (f *fold) group() error {
	if len(f.o.By) == 0 {
		return nil
	}
	g := &f.groups
	g.at = make([]int32, f.rows.n)
	number := map[string]int32{}
	values := make([]string, len(f.o.By))
	rows := f.rows.cursor()
	for i := range f.rows.n {
		j := rows.seek(i)
		for k, key := range f.o.By {
			values[k] = f.keyOf(&rows.frame, j, key)
		}
		name := strings.Join(values, "\x00")
		n, ok := number[name]
		if !ok {
			if n = int32(len(g.all)); n == MaxGroups {
				return &formats.SyntaxError{Place: f.parts[0].place, What: "groups by " + strings.Join(f.o.By, ","), Got: fmt.Sprintf("more than %d", MaxGroups), Want: "fewer",
					Help: "group by fewer keys, or by one with fewer values"}
			}
			number[name] = n
			g.all = append(g.all, &group{values: slices.Clone(values)})
		}
		g.at[i] = n
		g.all[n].rows = append(g.all[n].rows, int32(i))
	}
	digits := 3
	if len(g.all) > fineGroups {
		digits = 2
	}
	for _, x := range g.all {
		x.gapSketches = newGapSketches(digits)
	}
	return nil
}

// keyOf is the value of a key in row i.
func (f *fold) keyOf(x *frame, i int, key string) string {
	switch key {
	case "class":
		return f.text.of(x.col(cClass)[i])
	case "model":
		return f.text.of(x.col(cModel)[i])
	case "turn":
		return strconv.FormatInt(x.col(cTurn)[i], 10)
	case "input-bucket":
		return bucket(either(x.col(cPlannedIn)[i], x.col(cIn)[i]))
	case "session":
		return f.text.of(x.col(cSession)[i])
	case "worker":
		if worker := x.col(cWorker)[i]; worker >= 0 {
			return strconv.FormatInt(worker, 10)
		}
		return ""
	case "outcome":
		return run.Outcomes[outcomeIn(x.col(cFlags)[i])]
	case "remote_addr":
		return f.text.of(x.col(cAddr)[i])
	case "file":
		return f.parts[x.col(cPart)[i]].file
	}
	panic("internal error: no group key " + key)
}

// bucket names the range between powers of two that holds n: 0, 1, 2-3, 4-7, …
func bucket(n int64) string {
	if n == null {
		return ""
	}
	if n < 2 {
		return strconv.FormatInt(n, 10)
	}
	low := int64(1) << (bits.Len64(uint64(n)) - 1)
	return fmt.Sprintf("%d-%d", low, 2*low-1)
}

// groupMetrics computes the metrics of each group.
func (f *fold) groupMetrics() error {
	all := slices.Clone(f.groups.all)
	slices.SortFunc(all, func(a, b *group) int { return slices.CompareFunc(a.values, b.values, natural) })
	for _, g := range all {
		made := summary.Group{Metrics: f.timingMetrics(g.rows), Rows: int64(len(g.rows))}
		for k, name := range f.o.By {
			made.Keys = append(made.Keys, summary.Key{Name: name, Value: g.values[k]})
		}
		metrics, sketches, err := g.metrics()
		if err != nil {
			return err
		}
		made.Metrics, made.Sketches = append(made.Metrics, metrics...), sketches
		var n, in [len(run.Outcomes)]int64
		f.among(g.rows, func(x *frame) {
			marks, flags := x.marks(), x.col(cFlags)
			for i := range x.n {
				outcome := outcomeIn(flags[i])
				n[outcome]++
				if marks[i]&isPlanned > 0 {
					in[outcome]++
					made.InWindow++
				}
			}
		})
		for i, name := range run.Outcomes {
			made.Outcomes = append(made.Outcomes, summary.Outcome{Name: name, N: n[i], InWindow: in[i]})
		}
		made.Scalars = f.groupScalars(g, made.InWindow, in[outcomeOK], in[outcomePlanned])
		sortMetrics(made.Metrics)
		sortSketches(made.Sketches)
		f.groups.made = append(f.groups.made, made)
	}
	return nil
}

// groupScalars computes the rates and shares of a group. The floor of rates is that of
// the whole window; a group in it may have few rows, or none.
func (f *fold) groupScalars(g *group, planned, ok, cut int64) []summary.Scalar {
	var sent, okEnded, arrived, cached, input, withCached int64
	f.among(g.rows, func(x *frame) {
		marks, end, came, told, in := x.marks(), x.col(cEnd), x.arrived(), x.col(cCached), x.col(cIn)
		for i := range x.n {
			m := marks[i]
			if m&(isPlanned|isSent) == isPlanned|isSent {
				sent++
			}
			if m&isOK > 0 && f.inside(end[i]) {
				okEnded++
			}
			arrived += came[i]
			if m&(isPlanned|isOK) == isPlanned|isOK && told[i] != null && in[i] != null {
				withCached++
				cached += told[i]
				input += in[i]
			}
		}
	})
	sheet := newSheet()
	const noRows = "no planned rows in the window"
	sheet.set("failure_share", 1-share(ok, planned-cut), planned-cut, noRows)
	sheet.set("sent_share", share(sent, planned), planned, noRows)
	sheet.set("cache_reported", share(cached, input), withCached, "the server does not count cached tokens")
	rates := []struct {
		id string
		n  int64
	}{{"planned_rps", planned}, {"ok_rps", okEnded}, {"out_tps", arrived}}
	ids := []string{"failure_share", "sent_share", "cache_reported"}
	for _, x := range rates {
		ids = append(ids, x.id)
		if reason := NoRates(f.length(), f.plan.InWindow); reason != "" {
			sheet.none(x.id, reason)
		} else {
			sheet.set(x.id, float64(x.n)*second/float64(f.length()), x.n, "")
		}
	}
	if len(f.o.SLO) > 0 {
		good, see := f.goodOf()
		f.among(g.rows, see)
		good.fill(sheet, f.length(), f.plan.InWindow)
		ids = append(ids, goodScalars[:]...)
	}
	slices.Sort(ids)
	out := make([]summary.Scalar, len(ids))
	for i, id := range ids {
		out[i] = *sheet.values[id]
	}
	return out
}

// natural orders texts by the number that they begin with, then as text.
func natural(a, b string) int {
	x, y := leading(a), leading(b)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
}

// leading is the number that a text begins with, −1 when there is none.
func leading(s string) int64 {
	digits := strings.IndexFunc(s, func(c rune) bool { return c < '0' || c > '9' })
	if digits < 0 {
		digits = len(s)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func sortMetrics(m []summary.Metric) {
	slices.SortFunc(m, func(a, b summary.Metric) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Side, b.Side), cmp.Compare(a.Population, b.Population))
	})
}

func sortSketches(s []summary.Sketch) {
	slices.SortFunc(s, func(a, b summary.Sketch) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Side, b.Side)) })
}
