package plan

import (
	"math/rand/v2"
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// One command with many transforms does what one command for each does, in the fixed
// order, and what comes out keeps the rules of a schedule: ids from 0, waits for earlier
// lines only, times in order.
func TestTransformsComposeInOrder(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		var all Options
		var each []Options
		maybe := func(set func(o *Options)) {
			if r.IntN(2) > 0 {
				return
			}
			o := Options{Seed: 9}
			set(&o)
			set(&all)
			each = append(each, o)
		}
		all.Seed = 9
		from := int64(r.IntN(20)) * sec
		w := Window{formats.Some(from), formats.Some(from + 1 + r.Int64N(200*sec))}
		maybe(func(o *Options) { o.Window = &w })
		maybe(func(o *Options) { o.Spread = true })
		maybe(func(o *Options) { o.Sample = ratio(t, "0.7") })
		maybe(func(o *Options) { o.MaxContext = formats.Some(1050) })
		maybe(func(o *Options) { o.MaxInputDrop = formats.Some(950) })
		maybe(func(o *Options) { o.Speed = ratio(t, "1.25") })
		maybe(func(o *Options) { o.ThinkCap = formats.Some(2 * sec) })
		maybe(func(o *Options) { o.GapCap = formats.Some(sec) })
		maybe(func(o *Options) { o.MaxOutput = formats.Some(50) })
		maybe(func(o *Options) { o.MaxInput = formats.Some(700) })
		maybe(func(o *Options) { o.Retime = &Retiming{Process: process(t, "poisson"), Rate: ratio(t, "3")} })
		maybe(func(o *Options) { o.Clone.Copies = 2 })
		maybe(func(o *Options) { o.Zero = true })

		one, _, err := try(reqs, all)
		step := reqs
		var log []schedule.Transform
		var stepErr error
		for _, o := range each {
			if step, _, stepErr = try(step, o, log...); stepErr != nil {
				break
			}
			log = append(log, o.Transforms()...)
		}
		if (err == nil) != (stepErr == nil) || err == nil && text(one) != text(step) {
			t.Errorf("%v:\n%s%v\nwant, step by step,\n%s%v", all.Args(), text(one), err, text(step), stepErr)
		}
		if err != nil {
			return
		}
		if _, err := write(one); err != nil {
			t.Errorf("%v: %v", all.Args(), err)
		}
		for i, q := range one {
			if q.ID != int64(i) {
				t.Errorf("%v: line %d has id %d", all.Args(), i, q.ID)
			}
		}
		if got := all.Transforms(); len(got) != len(log) {
			t.Errorf("the header logs %v; want %v", got, log)
		}
	})
}

// Windows that touch take any schedule of whole prompts apart without a gap or an
// overlap.
func TestWindowsPartitionRandomSchedules(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		at := formats.Some(reqs[r.IntN(len(reqs))].AtNS.Or(sec) + r.Int64N(2))
		if at.V == 0 {
			at.V = 1
		}
		before, _ := sent(t, reqs, Options{Window: &Window{To: at}})
		after, _ := sent(t, reqs, Options{Window: &Window{From: at}})
		seen := map[string]int{}
		for _, q := range append(before, after...) {
			seen[q.Session+"/"+time.Duration(q.Turn).String()]++
		}
		lost := 0
		for _, q := range reqs {
			switch n := seen[q.Session+"/"+time.Duration(q.Turn).String()]; {
			case n > 1 && q.AtNS.Valid, n == 0 && q.AtNS.Valid:
				t.Errorf("request %d is in %d of two windows at %d", q.ID, n, at.V)
			case n == 0:
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%d requests are in no window", lost)
		}
	})
}

// Faster and slower again gives times that are at most a rounding below.
func TestSpeedAndBack(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		for _, v := range [][2]string{{"2", "0.5"}, {"0.1", "10"}, {"8", "0.125"}, {"1.6", "0.625"}} {
			there, _ := sent(t, reqs, Options{Speed: ratio(t, v[0])})
			back, _ := sent(t, there, Options{Speed: ratio(t, v[1])})
			if _, err := write(there); err != nil {
				t.Error(err)
			}
			for i, q := range back {
				for _, p := range [][2]formats.Int{{q.AtNS, reqs[i].AtNS}, {q.DelayNS, reqs[i].DelayNS}} {
					if p[0].Valid != p[1].Valid || p[0].V > p[1].V || p[1].V-p[0].V > 8 {
						t.Errorf("--speed %s, then %s: %v; want %v", v[0], v[1], p[0], p[1])
					}
				}
			}
		}
	})
}
