package plan

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Window is a stretch of recorded time, From included, To not, so that neighbouring
// windows take a trace apart without a gap or an overlap. A null end is open.
type Window struct{ From, To formats.Int } // ns

// ParseWindow reads FROM:TO. Each side is a duration such as 90s, 10m or 1h30m; one
// of them may be empty.
func ParseWindow(text string) (w Window, err error) {
	from, to, ok := strings.Cut(text, ":")
	if !ok || from == "" && to == "" {
		return w, fmt.Errorf("got %q, want FROM:TO, such as 10m:20m, 90s: or :1h", text)
	}
	if w.From, err = parseEdge(from); err != nil {
		return w, err
	}
	if w.To, err = parseEdge(to); err != nil {
		return w, err
	}
	if w.To.Valid && w.To.V <= w.From.Or(0) {
		return w, fmt.Errorf("got %q, want an end after the start", text)
	}
	if !w.To.Valid && w.From.V == 0 {
		return w, fmt.Errorf("got %q, which is the whole trace, want a part of it", text)
	}
	return w, nil
}

func parseEdge(text string) (formats.Int, error) {
	if text == "" {
		return formats.Int{}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return formats.Int{}, fmt.Errorf("got %q, want a duration of at least 0, such as 90s, 10m or 1h30m", text)
	}
	return formats.Some(int64(d)), nil
}

// String prints the window as ParseWindow reads it, in one way for each window.
func (w Window) String() string {
	edge := func(v formats.Int) string {
		if !v.Valid {
			return ""
		}
		return time.Duration(v.V).String()
	}
	return edge(w.From) + ":" + edge(w.To)
}

func (w Window) params() map[string]string {
	p := map[string]string{"from_ns": strconv.FormatInt(w.From.Or(0), 10)}
	if w.To.Valid {
		p["to_ns"] = strconv.FormatInt(w.To.V, 10)
	}
	return p
}

func (w Window) holds(at int64) bool {
	return at >= w.From.Or(0) && (!w.To.Valid || at < w.To.V)
}

// windowed keeps the lines of a window. A line of a whole prompt counts for itself; a
// line without a time goes with the lines it waits for; a session of deltas is kept or
// dropped by its first line, since the prompts of the others hang on it.
type windowed struct {
	w      Window
	p      *Pipeline
	left   *thin
	deltas map[string]bool // session of deltas that is open → kept
	open   map[string]cutState
}

// cutState says what happened to the lines of a session.
type cutState struct{ kept, dropped bool }

func (p *Pipeline) windowed(w Window, next step) step {
	d := &windowed{w: w, p: p, left: p.newThin(), deltas: map[string]bool{}, open: map[string]cutState{}}
	return func() (*schedule.Request, error) {
		for {
			r, err := next()
			if err != nil {
				if err == io.EOF {
					for s, c := range d.open {
						d.cut(c)
						delete(d.open, s)
					}
				}
				return nil, err
			}
			keep, err := d.keep(r)
			if err != nil {
				return nil, err
			}
			d.note(r, keep)
			if keep {
				return r, d.left.keep(r)
			}
			p.counts["window_dropped"]++
		}
	}
}

func (w *windowed) keep(r *schedule.Request) (bool, error) {
	if r.Context == schedule.Delta {
		keep, known := w.deltas[r.Session]
		if !known {
			keep = r.AtNS.Valid && w.w.holds(r.AtNS.V)
		}
		if r.Last {
			delete(w.deltas, r.Session)
		} else {
			w.deltas[r.Session] = keep
		}
		return keep, nil
	}
	if r.AtNS.Valid {
		return w.w.holds(r.AtNS.V), nil
	}
	for _, id := range r.After {
		if now, err := w.left.of(id); err != nil || now >= 0 {
			return true, err
		}
	}
	return false, nil
}

// note counts sessions that lose a part of their lines.
func (w *windowed) note(r *schedule.Request, kept bool) {
	c := w.open[r.Session]
	if kept {
		c.kept = true
	} else {
		c.dropped = true
	}
	if r.Last {
		delete(w.open, r.Session)
		w.cut(c)
		return
	}
	w.open[r.Session] = c
}

func (w *windowed) cut(c cutState) {
	if c.kept && c.dropped {
		w.p.counts["window_sessions_cut"]++
	}
}
