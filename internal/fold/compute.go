package fold

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

// compute takes every metric of the rows, once their order is settled.
func (f *fold) compute(ctx context.Context) error {
	if err := f.findLoad(); err != nil {
		return err
	}
	if err := f.findWindow(); err != nil {
		return err
	}
	if err := f.group(); err != nil {
		return err
	}
	f.startSums()
	flow := f.newFlow()
	if err := f.chunks.each(true, func(c *chunks, _ int64) error { f.chunked(flow, c); return nil }); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.o.NoColumns || f.o.NoRows {
		f.place = nil // the lists are not carried
	}
	f.look(f.outcomes(), f.listless(flow), f.plannedSums(), f.integrity(), f.counts(), f.countGap(), f.tokens(), f.delivered(), f.disorderOfTurns(),
		f.rates(flow), f.goodput(), f.rowsByWorker(), f.connections(), f.clientShares(), f.observed(flow), f.backlog(), f.halves(flow), f.censored(), f.cache(),
		f.sliceSeries(), f.sums.view())
	f.look(f.concurrency(flow)) // by itself: it takes as much memory as all the others
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := f.flowMetrics(flow); err != nil {
		return err
	}
	f.headroom()
	f.metrics = append(f.metrics, f.timingMetrics(nil)...)
	if err := f.groupMetrics(); err != nil {
		return err
	}
	f.loadSeries()
	f.windowSeries(flow.batches)
	f.clientTimeline()
	f.status()
	return nil
}

// view is what looks at all rows, frame by frame in their order, and what it does once it has
// seen them all. Either may be missing.
type view struct {
	see  func(x *frame)
	done func()
}

// look shows all rows to the views, in one pass.
func (f *fold) look(views ...view) {
	f.each(func(x *frame) {
		for i := range views {
			if see := views[i].see; see != nil {
				see(x)
			}
		}
	})
	for _, v := range views {
		if v.done != nil {
			v.done()
		}
	}
}

// status notes what a reader of the numbers must know about the run as a whole.
func (f *fold) status() {
	for _, p := range f.parts {
		if p.end.Status != run.Complete {
			text := "the run is " + p.end.Status
			if reason := p.end.Detail.Reason; reason != "" && reason != p.end.Status {
				text += ": " + reason
			}
			f.note(text)
		}
		if len(p.header.Injected) > 0 {
			f.note("the client was slowed down on purpose")
		}
	}
	if f.untimed > 0 {
		text := "1 request has no planned time and belongs to no window"
		if f.untimed > 1 {
			text = fmt.Sprintf("%d requests have no planned time and belong to no window", f.untimed)
		}
		f.note(text)
	}
	if len(f.parts) > 1 {
		f.note("the parts are aligned by wall clock")
	}
}

// partialLabel marks every figure of a run that was not read to its end.
const partialLabel = "partial"

// labelPartial marks every figure.
func labelPartial(s *summary.Summary) {
	s.Partial = true
	label := func(text *string) {
		if *text == "" {
			*text = partialLabel
		} else {
			*text = partialLabel + ": " + *text
		}
	}
	mark := func(metrics []summary.Metric, scalars []summary.Scalar) {
		for i := range metrics {
			label(&metrics[i].Note)
		}
		for i := range scalars {
			label(&scalars[i].Evidence)
		}
	}
	mark(s.Metrics, s.Scalars)
	for _, g := range s.Groups {
		mark(g.Metrics, g.Scalars)
	}
}

// summary puts everything together.
func (f *fold) summary() (*summary.Summary, error) {
	f.finishGPUs()
	slices.SortFunc(f.inputs, func(a, b summary.Input) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Name, b.Name))
	})
	s := &summary.Summary{Format: summary.Format, Version: summary.Version, Build: f.o.Build, Inputs: f.inputs, Window: f.window, Plan: f.plan,
		Objectives: slo.Texts(f.o.SLO), Metrics: f.metrics, Scalars: f.sheet.sorted(), Series: f.series, Clients: f.perWorker, GPUs: f.gpu.devices, GPUNote: f.gpu.note, Groups: f.groups.made,
		Sketches: f.sketch, Notes: f.notes}
	for _, p := range f.parts {
		detail, err := json.Marshal(p.end.Detail)
		if err != nil {
			return nil, err
		}
		s.Parts = append(s.Parts, summary.Part{Header: p.raw, End: summary.PartEnd{Status: p.end.Status, Planned: p.end.Planned,
			RequestsRows: p.end.RequestsRows, ClientRows: p.end.ClientRows, SHA256: p.end.SHA256, Detail: detail}})
	}
	for i, name := range run.Outcomes {
		s.Outcomes = append(s.Outcomes, summary.Outcome{Name: name, N: f.all[i], InWindow: f.in[i]})
	}
	sortMetrics(s.Metrics)
	if f.cut {
		labelPartial(s)
	}
	slices.SortFunc(s.Series, func(a, b summary.Series) int { return cmp.Compare(a.ID, b.ID) })
	sortSketches(s.Sketches)
	s.Sums = f.sums.encode(f)
	s.Seal()
	switch {
	case f.o.NoColumns:
	case f.rows.n > f.o.MaxColumns:
		s.Notes = append(s.Notes, "no per-request columns: more requests than columns are kept for")
	default:
		var err error
		if s.Columns, err = f.columns(); err != nil {
			return nil, err
		}
		if f.o.NoRows {
			break
		}
		if s.Rows, err = f.carry(); err != nil {
			return nil, err
		}
	}
	return s, nil
}
