package table

import (
	"fmt"
	"strings"

	"hydrant/formats/summary"
)

// facts prints what stands below the table, one line each.
func (p *page) facts() {
	p.fact("outcomes", p.outcomes())
	p.fact("goodput", p.goodput())
	p.fact("cache", p.cache())
	p.fact("flight", p.flight())
	p.fact("client", p.client())
	for i := range p.s.GPUs {
		p.fact("gpu", device(&p.s.GPUs[i]))
	}
	if e, ok := p.scalar("energy"); ok {
		p.fact("energy", []string{figure(e/1000) + " kJ", p.shown("power", suffix(" W")), p.shown("j_per_out_token", suffix(" J per output token"))})
	} else if len(p.s.GPUs) == 0 && p.s.GPUNote != "" && p.s.GPUNote != "no gpu stream" {
		p.fact("gpu", []string{p.s.GPUNote})
	}
	if n := p.s.Window.MSERNote; n != "" {
		p.fact("warm-up", []string{"not detected: " + n})
	} else if c := p.s.Window.MSERCutNS; c.Valid && c.V > 0 {
		p.fact("warm-up", []string{span(float64(c.V)/1e9) + " detected and left out"})
	}
	for _, n := range p.s.Notes {
		p.fact("note", []string{n})
	}
}

// fact prints a name and what belongs to it, wrapped at 80 columns.
func (p *page) fact(name string, parts []string) {
	if p.markdown {
		p.item(name, parts)
		return
	}
	line := fmt.Sprintf("%-9s", name)
	first := true
	for _, s := range parts {
		if s == "" {
			continue
		}
		sep := " · "
		if first {
			sep = " "
		}
		if !first && len([]rune(line))+len([]rune(sep+s)) > 80 {
			p.b.WriteString(line + "\n")
			line, sep = strings.Repeat(" ", 9), " "
		}
		line += sep + s
		first = false
	}
	if !first {
		p.b.WriteString(line + "\n")
	}
}

// outcomes are those of the whole run: a failure outside the window is one too.
func (p *page) outcomes() (parts []string) {
	for _, o := range p.s.Outcomes {
		if o.N > 0 {
			parts = append(parts, o.Name+" "+count(o.N))
		}
	}
	if v, ok := p.scalar("conservation"); ok && v != 0 {
		parts = append(parts, fmt.Sprintf("%s planned requests without a row", count(int64(v))))
	}
	return parts
}

// goodput is that of the objectives the summary was made with.
func (p *page) goodput() (parts []string) {
	attainment := p.shown("attainment", percent)
	if attainment == "" {
		return nil
	}
	parts = []string{attainment + " of planned requests good", p.shown("goodput_rps", suffix(" req/s")), p.shown("good_tps", suffix(" output tok/s"))}
	for _, v := range p.s.Scalars {
		if v.ID == "attainment" {
			parts = append(parts, v.Evidence)
		}
	}
	return append(parts, "by "+strings.Join(p.s.Objectives, " "))
}

func (p *page) cache() []string {
	planned := p.shown("cache_planned", percent)
	if planned != "" {
		planned = "planned " + planned + " of input tokens"
	}
	reported := p.shown("cache_reported", percent)
	if reported != "" {
		reported = "server reported " + reported
	} else if planned != "" {
		reported = "server reports none"
	}
	return []string{planned, reported}
}

func (p *page) flight() []string {
	mean := p.shown("effective_concurrency", figure)
	if mean != "" {
		mean = "mean " + mean + " requests"
	}
	peak := p.shown("in_flight_peak", func(v float64) string { return count(int64(v)) })
	if peak != "" {
		peak = "peak " + peak
	}
	return []string{mean, peak}
}

func (p *page) client() []string {
	cpu := p.shown("cpu_share", percent)
	if cpu != "" {
		cpu = fmt.Sprintf("CPU p95 %s of %d workers", cpu, len(p.s.Clients))
		if len(p.s.Clients) == 1 {
			cpu = strings.TrimSuffix(cpu, "s")
		}
	}
	event := p.shown("cpu_per_event", func(v float64) string { return figure(v/1000) + " µs per token event" })
	ceiling := p.shown("event_ceiling", suffix(" events/s at most"))
	wait := p.shown("wait_per_slice", func(v float64) string { return "run-queue wait " + figure(v/1000) + " µs" })
	return []string{cpu, event, ceiling, wait}
}

func device(g *summary.GPU) []string {
	name := fmt.Sprintf("%d %s", g.Index, g.Name)
	if g.Reason != "" {
		return []string{name, "not computed: " + g.Reason, count(g.Samples) + " samples"}
	}
	show := func(key, before, after string, scale float64) string {
		v := g.Values[key]
		if v == nil {
			return ""
		}
		return before + figure(*v*scale) + after
	}
	return []string{name, show("power_w_mean", "", " W", 1), show("utilization_mean", "busy ", " %", 100), show("sm_active_mean", "SM ", " %", 100),
		show("dram_active_mean", "DRAM ", " %", 100), show("memory_used_bytes_max", "memory ", " GB", 1e-9), show("temperature_c_max", "", " °C", 1),
		show("energy_j", "", " kJ", 1e-3)}
}
