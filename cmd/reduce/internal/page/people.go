package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats/run"
)

// workers lists what each worker used.
func (p *Page) workers() grid {
	g := grid{Caption: "Workers", Head: []string{"worker", "rows sent", "CPU s", "CPU p95 %", "wait per slice µs", "largest thread hiccup ms"}, Left: 1}
	for i, c := range p.s.Clients {
		id := fmt.Sprintf("client %d ", i)
		row := []cell{text(strconv.FormatInt(c.Worker, 10)), counted(id+"rows_sent", c.RowsSent), whole(id+"cpu_ns", c.CPUNS, 1e-9, "not measured")}
		if len(p.s.Parts) > 1 {
			row[0].Text = fmt.Sprintf("%d of part %d", c.Worker, c.Part)
		}
		for _, x := range [...]struct {
			key   string
			scale float64
		}{{"cpu_share_p95", 100}, {"wait_per_slice_ns", 1e-3}, {"hiccup_thread_max_ns", 1e-6}} {
			var v *float64
			if n, ok := c.Values[x.key]; ok {
				v = &n
			}
			row = append(row, figureOf(id+x.key, v, x.scale, "not measured"))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// devices lists the GPUs.
func (p *Page) devices() grid {
	g := grid{Caption: "GPUs", Head: []string{"", "device", "busy %", "SM %", "tensor %", "DRAM %", "power W", "memory GB", "°C", "energy kJ"}, Left: 2}
	for i, d := range p.s.GPUs {
		row := []cell{text(strconv.Itoa(i)), text(fmt.Sprintf("%s %d %s", d.Host, d.Index, d.Name))}
		for _, x := range [...]struct {
			key   string
			scale float64
		}{{"utilization_mean", 100}, {"sm_active_mean", 100}, {"tensor_active_mean", 100}, {"dram_active_mean", 100}, {"power_w_mean", 1}, {"memory_used_bytes_max", 1e-9},
			{"temperature_c_max", 1}, {"energy_j", 1e-3}} {
			why := d.Reason
			if why == "" {
				why = "the device does not report it"
			}
			row = append(row, figureOf(fmt.Sprintf("gpu %d %s", i, x.key), d.Values[x.key], x.scale, why))
		}
		g.Rows = append(g.Rows, row)
	}
	if p.s.GPUNote != "" {
		g.Notes = append(g.Notes, "GPU: "+p.s.GPUNote+".")
	}
	return g
}

// made says what the numbers rest on: inputs, and how each part was produced.
func (p *Page) made() grid {
	g := grid{Caption: "What this rests on", Head: []string{"", ""}, Left: 2}
	add := func(name, v string) {
		if v != "" {
			g.Rows = append(g.Rows, []cell{text(name), text(v)})
		}
	}
	for _, in := range p.s.Inputs {
		add(in.Kind, fmt.Sprintf("%s, %s bytes, sha256 %s", in.Name, table.Count(in.Bytes), in.SHA256))
	}
	for i, part := range p.s.Parts {
		var h run.Header
		if json.Unmarshal(part.Header, &h) != nil {
			continue // a header of a later version: reduce has checked what it needs
		}
		name := "run"
		if len(p.s.Parts) > 1 {
			name = fmt.Sprintf("part %d", i)
		}
		add(name, join(part.End.Status, h.Model, strings.Join(h.Target, " "), h.Endpoint, "timing "+h.Timing, fmt.Sprintf("%d workers", h.Workers), "engine "+h.Engine, fmt.Sprintf("seed %d", h.Seed)))
		var d run.Detail
		if json.Unmarshal(part.End.Detail, &d) == nil {
			add("schedule", strings.Join(d.ScheduleSHA256, " "))
		}
		host := h.Host
		add("host", join(host.Hostname, host.Kernel, host.Arch, fmt.Sprintf("%d of %d CPUs", host.CPUsAllowed, host.CPUs)))
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(h.Labels)) {
			labels = append(labels, k+"="+h.Labels[k])
		}
		add("labels", strings.Join(labels, " "))
	}
	add("reduced by", p.s.Build)
	return g
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" || strings.HasSuffix(s, " ") }), " · ")
}
