package calibrate

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
)

// step is one load: a stationary stream of requests, seen from offset 0 on as if it had
// gone on for ever. What began before is there as an answer in its middle, opened with a
// short prompt while the step warms up.
type step struct {
	rate   float64       // requests per second, evenly spaced
	gap    time.Duration // between token events of an answer; 0: it comes at once
	per    int           // tokens per event
	warm   time.Duration // before the window
	window time.Duration // in which it counts
	tail   time.Duration // after the window, for what was due in it
}

func (s *step) length() time.Duration { return s.warm + s.window + s.tail }

const (
	warmTime  = 150 * time.Millisecond // at least, before a window
	openTime  = 150 * time.Microsecond // more of it for each answer that is open
	tailTime  = 20 * time.Millisecond  // how late the last requests of a window may be
	warmInput = 8                      // tokens of a short prompt
	leadTime  = 20 * time.Millisecond  // from offset 0 to the first request
)

// events returns how many token events an answer has.
func (s *step) events(tokens int64) float64 { return math.Ceil(float64(tokens) / float64(s.per)) }

// openAnswers returns how many answers the load has open at a time.
func (s *Sample) openAnswers(rate float64, gap time.Duration, per int) float64 {
	return rate * s.output / float64(per) * gap.Seconds()
}

// golden spreads numbers evenly over 0 to 1, however many are taken.
const golden = 0.6180339887498949

// Classes of a plan's requests: with the prompt of a line, and answers that were open before.
const (
	isFresh = "fresh"
	wasOpen = "open"
)

// due is what a plan promises for its window.
type due struct{ requests, events float64 }

// plan makes the lines of a step, the same for the same sample, step and names; name i is
// a session of worker i.
func (s *Sample) plan(p step, names []string) ([]schedule.Request, due) {
	before, fresh := s.opened(p), s.arrivals(p)
	for _, list := range [][]schedule.Request{before, fresh} { // each worker has its even share of both
		for i := range list {
			list[i].Session = names[i%len(names)]
		}
	}
	all := append(before, fresh...)
	slices.SortStableFunc(all, func(a, b schedule.Request) int { return cmp.Compare(a.AtNS.V, b.AtNS.V) })
	var d due
	turns := map[string]int64{}
	for i := range all {
		r := &all[i]
		r.ID, r.Stream, r.Turn = int64(i), "0", turns[r.Session]
		turns[r.Session]++
		at := time.Duration(r.AtNS.V)
		inside := at >= p.warm && at < p.warm+p.window
		if inside && r.Class == isFresh {
			d.requests++
		}
		switch events := p.events(r.OutputTokens.V); {
		case p.gap > 0: // event k comes k gaps after the request
			first := max(math.Ceil(float64(p.warm-at)/float64(p.gap)), 1)
			d.events += max(min(math.Ceil(float64(p.warm+p.window-at)/float64(p.gap))-1, events)-first+1, 0)
		case inside:
			d.events += events
		}
	}
	return all, d
}

// opened returns requests whose answers were open at offset 0, with what was left of each:
// a long answer is as often among them as it is long.
func (s *Sample) opened(p step) []schedule.Request {
	n := int(math.Round(s.openAnswers(p.rate, p.gap, p.per)))
	ends := make([]float64, len(s.lines)) // running sums of answer lengths
	total := 0.0
	for i := range s.lines {
		total += float64(s.lines[i].OutputTokens.V)
		ends[i] = total
	}
	list := make([]schedule.Request, 0, n)
	for i := range n {
		at := float64(leadTime) + 0.8*float64(p.warm-leadTime)*float64(i)/float64(n)
		_, u := math.Modf((float64(i) + 0.5) * golden)
		j, exact := slices.BinarySearch(ends, u*total)
		if exact {
			j++
		}
		left := ends[min(j, len(ends)-1)] - u*total - at/float64(p.gap)*float64(p.per)
		if left < 1 {
			continue // over before it could be opened
		}
		list = append(list, schedule.Request{Class: wasOpen, AtNS: formats.Some(int64(at)), Context: schedule.Whole,
			InputTokens: formats.Some(int64(warmInput)), OutputTokens: formats.Some(int64(left))})
	}
	return list
}

// arrivals returns the requests that begin in the step, with the lines of the sample in
// their order.
func (s *Sample) arrivals(p step) []schedule.Request {
	apart := float64(time.Second) / p.rate
	var list []schedule.Request
	for i := 0; ; i++ {
		at := float64(leadTime) + (float64(i)+0.5)*apart
		if at >= float64(p.length()) {
			return list
		}
		r := s.lines[i%len(s.lines)]
		r.Class, r.AtNS = isFresh, formats.Some(int64(at))
		list = append(list, r)
	}
}

// sessions returns a session name for each worker.
func sessions(workers int) []string {
	names := make([]string, workers)
	for missing, i := workers, 0; missing > 0; i++ {
		name := "calibration-" + strconv.Itoa(i)
		if w := drive.WorkerOf(name, workers); names[w] == "" {
			names[w] = name
			missing--
		}
	}
	return names
}

// encode writes lines as a schedule.
func (s *Sample) encode(lines []schedule.Request) (*schedule.Reader, error) {
	var b bytes.Buffer
	w, err := schedule.NewWriter(&b, schedule.Header{Build: cli.Build(), Block: s.block})
	if err != nil {
		return nil, err
	}
	for i := range lines {
		if err := w.Write(&lines[i]); err != nil {
			return nil, err
		}
	}
	if _, err := w.Close(schedule.Trailer{}); err != nil {
		return nil, err
	}
	return schedule.NewReader(&b, "calibration")
}
