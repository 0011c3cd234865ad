package fold

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// sums gathers what a summary without rows has for merging. A nil one gathers nothing.
type sums struct {
	from              int64 // first second, whole on the wall clock
	planned, sent, ok []int64
	ended, tokens     []int64 // by that second
	inFlight          *flights
	bySecond          []int64 // tokens in each whole second of the window
	timings           [len(timings)]summary.Spread
	others            []summary.Spread
	sample            sample
	open              int64 // requests without an end
	load              load
}

// maxDrain is for how many seconds after the load what ends then is counted.
const maxDrain = 7 * 24 * 3600

// startSums begins to gather, where the summary will have no rows.
func (f *fold) startSums() {
	wanted := f.o.NoColumns || f.o.Sums || f.rows.n > f.o.MaxColumns || f.chunks.values > maxCarried
	if f.o.NoRows || f.o.Table != nil || f.cut || !wanted {
		return
	}
	s := &sums{}
	f.sums = s
	first, last := f.load.from, f.load.to
	f.each(func(x *frame) {
		for _, c := range [...]int{cAsked, cEnd, cLast} {
			for _, t := range x.col(c)[:x.n] {
				last = max(last, t)
			}
		}
	})
	wall := f.epoch.WallNS
	s.from = first - modulo(wall+first, second)
	n := min((last-s.from)/second+1, int64(f.load.seconds)+maxDrain)
	if !f.load.any {
		n = 0
	}
	for _, v := range [...]*[]int64{&s.planned, &s.sent, &s.ok, &s.ended, &s.tokens} {
		*v = make([]int64, n)
	}
	s.inFlight = newFlights(s.from, int(n))
	s.load.from = s.from
}

// modulo is a mod m, from 0 up.
func modulo(a, m int64) int64 { return (a%m + m) % m }

// view counts the rows by second and samples their ids.
func (s *sums) view() view {
	if s == nil {
		return view{}
	}
	return view{see: func(x *frame) {
		marks, id, u, asked, end := x.marks(), x.col(cID), x.u(), x.col(cAsked), x.col(cEnd)
		for i := range x.n {
			s.sample.add(id[i])
			s.load.count(s.planned, u[i])
			if marks[i]&isSent > 0 {
				s.load.count(s.sent, asked[i])
			}
			s.load.count(s.ended, end[i])
			if marks[i]&isOK > 0 {
				s.load.count(s.ok, end[i])
			}
			if asked[i] != null && end[i] == null {
				s.open++
			}
		}
		s.inFlight.see(x)
	}}
}

// timing takes in a distribution over requests: the values of all rows, and what the
// summary says of them. Several may be taken in at once.
// all are the moments of the values of the population.
func (s *sums) timing(t *timing, marks []uint8, values []int64, made []summary.Metric, all *stats.Moments) {
	var w stats.Wide
	x := summary.Spread{ID: t.id, Side: t.side, N: made[0].N, Nulls: made[0].Nulls, Neff: []*float64{}}
	want := states[t.pop]
	for i, state := range marks {
		v := values[i]
		if want.holds(state) && v > notApplicable {
			w.AddOne(v)
		}
		if !t.planned || state&isPlanned == 0 || state&isCut != 0 {
			continue
		}
		if v == notApplicable {
			x.Neutral++
		} else if state&isOK == 0 || v == null {
			x.Misses++
		}
	}
	put(&x, all)
	var err error
	if x.Over, x.Under, err = w.Encode(); err != nil {
		panic("internal error: " + err.Error())
	}
	if t.planned {
		for _, p := range made[1].Percentiles {
			n := p.Neff
			if n != nil && p.Reason != "" { // tau is not settled: nothing is known of how many are independent
				one := 1.0
				n = &one
			}
			x.Neff = append(x.Neff, n)
		}
	}
	s.timings[slices.IndexFunc(timings[:], func(o timing) bool { return o.id == t.id })] = x
}

// put writes moments.
func put(x *summary.Spread, all *stats.Moments) {
	x.Sum, x.Squares = json.Number(all.Sum.String()), json.Number(all.Squares.String())
	if all.N > 0 {
		x.Min, x.Max = formats.Some(all.Min), formats.Some(all.Max)
	}
}

// gaps takes in the distributions over gaps and tokens, whose sketches stand in the
// summary anyway.
func (s *sums) gaps(w *flow) {
	if s == nil {
		return
	}
	for _, x := range w.named() {
		p := summary.Spread{ID: x.id, Side: gathering(x.id).Side, N: x.s.h.N(), Neff: []*float64{}}
		put(&p, &x.s.all)
		s.others = append(s.others, p)
	}
	s.bySecond = w.bySecond
}

// lasted takes in a count over time: the area below it.
func (s *sums) lasted(id string, n int64, area stats.Sum) {
	if s == nil {
		return
	}
	s.others = append(s.others, summary.Spread{ID: id, Side: gathering(id).Side, N: n, Sum: json.Number(area.String()), Squares: "0", Neff: []*float64{}})
}

// encode writes what was gathered.
func (s *sums) encode(f *fold) *summary.Sums {
	if s == nil {
		return nil
	}
	w := f.window
	out := &summary.Sums{Window: summary.SumWindow{FromLeast: w.FromNS, FromMost: w.FromNS, ToLeast: w.ToNS, ToMost: w.ToNS, Given: f.o.Window.text()},
		Order: summary.Order{Rows: f.order.rows, Over: f.order.over, MostNS: f.order.most, WorstID: f.order.worst, Early: f.order.early}}
	if f.spanTo != null {
		out.Window.SpanFrom, out.Window.SpanTo = formats.Some(f.spanFrom), formats.Some(f.spanTo)
	}
	f.sheet.keep("untimed", f.untimed, 0)
	f.sheet.keep("open", s.open, 0)
	for id, t := range f.sheet.totals {
		out.Tallies = append(out.Tallies, summary.Tally{ID: id, A: decimal(t[0]), B: decimal(t[1])})
	}
	out.Spreads = slices.DeleteFunc(append(slices.Clone(s.timings[:]), s.others...), func(x summary.Spread) bool {
		return x.ID == "fluidity" // by deadlines that may be others elsewhere
	})
	for _, x := range [...]struct {
		id string
		v  []int64
	}{{"planned", s.planned}, {"sent", s.sent}, {"ok", s.ok}, {"ended", s.ended}, {"out_tps", s.tokens}, {"in_flight", s.inFlight.counts()}} {
		out.Counts = append(out.Counts, summary.Counts{ID: x.id, FromNS: s.from, Values: blanks(x.v)})
	}
	out.Counts = append(out.Counts, summary.Counts{ID: "out_tps_1s", FromNS: w.FromNS, Values: blanks(s.bySecond)})
	out.Sample = s.sample.encode()
	sortSums(out)
	return out
}

func sortSums(s *summary.Sums) {
	slices.SortFunc(s.Tallies, func(a, b summary.Tally) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Spreads, func(a, b summary.Spread) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Counts, func(a, b summary.Counts) int { return strings.Compare(a.ID, b.ID) })
}

func decimal(v int64) json.Number { return json.Number(strconv.FormatInt(v, 10)) }

// blanks writes counts in decimal, separated by blanks.
func blanks(v []int64) string {
	var b []byte
	for i, n := range v {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(b)
}

// text names a window that was asked for, "" for none.
func (w *Span) text() string {
	if w == nil {
		return ""
	}
	to := ""
	if w.ToNS.Valid {
		to = strconv.FormatInt(w.ToNS.V, 10)
	}
	if w.Wall {
		return fmt.Sprintf("wall %d:%s", w.FromNS, to)
	}
	return fmt.Sprintf("%d:%s", w.FromNS, to)
}

// sampleSize is the number of ids by which overlaps are found: all of a small run.
const sampleSize = 4096

// sample keeps the ids with the smallest hashes, so that the sample of a union follows
// from the samples. The hash maps no two ids to one value.
type sample struct {
	hash []uint64 // ascending up to the last compaction
}

func (s *sample) add(id int64) { // splitmix64
	z := uint64(id) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	if len(s.hash) >= sampleSize && z > s.hash[sampleSize-1] {
		return
	}
	if s.hash = append(s.hash, z); len(s.hash) == 2*sampleSize {
		s.compact()
	}
}

func (s *sample) compact() {
	slices.Sort(s.hash)
	s.hash = slices.Compact(s.hash)
	s.hash = s.hash[:min(len(s.hash), sampleSize)]
}

func (s *sample) encode() string {
	s.compact()
	b := make([]byte, 0, 8*len(s.hash))
	for _, z := range s.hash {
		b = binary.LittleEndian.AppendUint64(b, z)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// join takes in another sample; false when they have an id in common, or text is none.
func (s *sample) join(text string) bool {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b)%8 != 0 || len(b) > 8*sampleSize {
		return false
	}
	n := len(s.hash) + len(b)/8
	for ; len(b) > 0; b = b[8:] {
		s.hash = append(s.hash, binary.LittleEndian.Uint64(b))
	}
	slices.Sort(s.hash)
	s.hash = slices.Compact(s.hash)
	if len(s.hash) != n {
		return false
	}
	s.hash = s.hash[:min(n, sampleSize)]
	return true
}
