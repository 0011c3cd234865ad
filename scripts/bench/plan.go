//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// gap is the distance of the starts of paced streams: no multiple of their period, so that
// their phases differ. The floor programs use the same.
const gap = 1061800 * time.Nanosecond

// group is a part of a plan: n requests, one each gap from start.
type group struct {
	class      string
	n          int
	start, gap time.Duration
	input      int64 // tokens
	output     int64 // token events
}

// plan writes a schedule of groups.
func (b *bench) plan(groups ...group) (name string, err error) {
	var all []schedule.Request
	for _, g := range groups {
		for i := range g.n {
			all = append(all, schedule.Request{AtNS: formats.Some(int64(g.start + time.Duration(i)*g.gap)), Stream: "0", Last: true,
				Context: schedule.Whole, InputTokens: formats.Some(g.input), OutputTokens: formats.Some(g.output), Class: g.class})
		}
	}
	slices.SortStableFunc(all, func(a, b schedule.Request) int { return int(a.AtNS.V - b.AtNS.V) })
	name = filepath.Join(b.tmp, "plan.sched")
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := schedule.NewWriter(f, schedule.Header{Build: "bench"})
	if err != nil {
		return "", err
	}
	for i := range all {
		all[i].ID, all[i].Session = int64(i), "s"+strconv.Itoa(i)
		if err := w.Write(&all[i]); err != nil {
			return "", err
		}
	}
	_, err = w.Close(schedule.Trailer{})
	return name, err
}
