package table

import (
	"fmt"

	"hydrant/formats/summary"
)

// maxGroups is how many groups the table shows; the other formats have all.
const maxGroups = 40

// groupFigures are the columns after the keys and counts, all in ms.
var groupFigures = [...]struct {
	head, id string
	level    int64
}{
	{"TTFT p50", "ttft_user", 500}, {"p90", "ttft_user", 900}, {"p99", "ttft_user", 990},
	{"TPOT p50", "tpot_user", 500}, {"E2E p50", "e2e_user", 500}, {"p99", "e2e_user", 990},
}

// groups prints a line per group.
func (p *page) groups() {
	all := p.s.Groups
	if len(all) == 0 {
		return
	}
	name, more := "", len(all)-maxGroups
	for i, k := range all[0].Keys {
		if i > 0 {
			name += " · "
		}
		name += k.Name
	}
	head := []string{"by " + name, "", "n", "failed"}
	for _, f := range groupFigures {
		head = append(head, f.head)
	}
	rows := [][]string{head}
	for i := range all[:min(len(all), maxGroups)] {
		rows = append(rows, groupRow(&all[i]))
	}
	p.grid(rows)
	if more > 0 {
		p.line(fmt.Sprintf("and %d more; --format csv has all", more))
	}
	p.b.WriteString("\n")
}

func groupRow(g *summary.Group) []string {
	label := ""
	for i, k := range g.Keys {
		if i > 0 {
			label += " · "
		}
		if k.Value == "" {
			label += absent
		} else {
			label += k.Value
		}
	}
	failed := absent
	for _, v := range g.Scalars {
		if v.ID == "failure_share" && v.Value != nil {
			failed = percent(*v.Value)
		}
	}
	row := []string{label, "ms", count(g.InWindow), failed}
	for _, f := range groupFigures {
		text := absent
		for i := range g.Metrics {
			m := &g.Metrics[i]
			if m.ID != f.id || m.Population != "ok" {
				continue
			}
			if v := percentile(m, f.level); v != nil && v.Value.Valid {
				text = figure(float64(v.Value.V) / 1e6)
			}
		}
		row = append(row, text)
	}
	return row
}
