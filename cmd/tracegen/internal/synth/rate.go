package synth

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hydrant/internal/arrivals"
)

// wantRate says what ParseRate reads.
const wantRate = "sessions per second as R, R/DURATION or FROM..TO/DURATION, several parts with commas, the last of which may be endless (as 5 or 1..10/5m,10)"

// ParseRate reads a rate over time: parts that hold (5/10m) or ramp (1..5/10m), one
// after the other. A part without a length must be the last, and lasts for ever.
func ParseRate(text string) ([]arrivals.Segment, error) {
	bad := fmt.Errorf("got %q, want %s", clip(text), wantRate)
	var out []arrivals.Segment
	for _, part := range strings.Split(text, ",") {
		if n := len(out); n > 0 && math.IsInf(out[n-1].Seconds, 1) {
			return nil, bad
		}
		values, length, finite := strings.Cut(strings.TrimSpace(part), "/")
		from, to, ramp := strings.Cut(values, "..")
		if !ramp {
			to = from
		}
		s := arrivals.Segment{Seconds: math.Inf(1)}
		var err1, err2 error
		s.From, err1 = rate(from)
		s.To, err2 = rate(to)
		if finite {
			d, err := time.ParseDuration(length)
			if err != nil || d <= 0 {
				return nil, bad
			}
			s.Seconds = d.Seconds()
		}
		if err1 != nil || err2 != nil || ramp && !finite {
			return nil, bad
		}
		out = append(out, s)
	}
	if err := busy(out); err != nil {
		return nil, fmt.Errorf("got %q, %w", clip(text), err)
	}
	return out, nil
}

// maxRate keeps a day's sums of arrivals exact.
const maxRate = 1e9

func rate(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= maxRate) {
		return 0, errors.New(wantRate)
	}
	return v, nil
}

// busy refuses a rate that never emits, or that stops emitting without an end.
func busy(segments []arrivals.Segment) error {
	some := false
	for _, s := range segments {
		if math.IsInf(s.Seconds, 1) && s.From == 0 {
			return errors.New("want a rate above 0 where it has no end")
		}
		some = some || s.From > 0 || s.To > 0
	}
	if !some {
		return errors.New("want a rate above 0 somewhere")
	}
	return nil
}

// PrintRate prints segments as ParseRate reads them.
func PrintRate(segments []arrivals.Segment) string {
	var b strings.Builder
	for i, s := range segments {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(decimal(s.From))
		if s.To != s.From {
			b.WriteString(".." + decimal(s.To))
		}
		if !math.IsInf(s.Seconds, 1) {
			b.WriteString("/" + time.Duration(math.Round(s.Seconds*1e9)).String())
		}
	}
	return b.String()
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// scaled multiplies every rate.
func scaled(segments []arrivals.Segment, by float64) []arrivals.Segment {
	out := make([]arrivals.Segment, len(segments))
	for i, s := range segments {
		out[i] = arrivals.Segment{Seconds: s.Seconds, From: s.From * by, To: s.To * by}
	}
	return out
}
