package summary

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"hydrant/formats"
)

// A number changed by hand contradicts another one, and the summary is refused.
func TestContradictions(t *testing.T) {
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(s *Summary)
	}{
		{`window.load_to_ns: got "0", want at least load_from_ns`, func(s *Summary) { s.Window.LoadTo = 0 }},
		{`parts: got "none", want at least one`, func(s *Summary) { s.Parts = nil }},
		{`parts[0].end.status: got "fine", want complete, interrupted or failed`, func(s *Summary) { s.Parts[0].End.Status = "fine" }},
		{`parts[0].end.planned: got "-1", want counts of at least 0`, func(s *Summary) { s.Parts[0].End.Planned = -1 }},
		{`plan.requests: got "3", want 2, planned by the parts`, func(s *Summary) { s.Plan.Requests = 3 }},
		{`plan.rows: got "3", want 2, the rows of the parts`, func(s *Summary) { s.Plan.Rows = 3 }},
		{`plan.rows: got "2", want 2 distinct and 1 duplicates`, func(s *Summary) { s.Plan.Duplicates = 1 }},
		{`plan: got "-1", want counts of at least 0`, func(s *Summary) { s.Plan.Distinct, s.Plan.Duplicates = 3, -1 }},
		{`outcomes: got "ok", want each one once`, func(s *Summary) { s.Outcomes[1].Name = "ok" }},
		{`outcomes[0].in_window: got "2", want 0 to 1, its n`, func(s *Summary) { s.Outcomes[0].InWindow = 2 }},
		{`outcomes: got "1 rows", want 2, as plan.rows`, func(s *Summary) { s.Outcomes = s.Outcomes[:1] }},
		{`outcomes: got "1 rows in the window", want 2, as plan.in_window`, func(s *Summary) { s.Outcomes[0].InWindow = 0 }},
		{`clients: got "0 rows", want 60, as the parts state`, func(s *Summary) { s.Clients = nil }},
		{`clients[0].part: got "1", want one of 1 parts`, func(s *Summary) { s.Clients[0].Part = 1 }},
		{`scalars: got "sent_rps", want each one once`, func(s *Summary) { s.Scalars = append(s.Scalars, s.Scalars[0]) }},
		{`scalars[0].value: got "null", want a number, or the reason`, func(s *Summary) { s.Scalars[0].Value = nil }},
		{`series: got "out_tps", want each one once`, func(s *Summary) { s.Series = append(s.Series, s.Series[0]) }},
		{`metrics: got "ttft_user user ok", want each one once`, func(s *Summary) { s.Metrics = append(s.Metrics, s.Metrics[0]) }},
		{`metrics[0].min: got "501", want at most max, 500`, func(s *Summary) { s.Metrics[0].Min = formats.Some(501) }},
		{`metrics[0].percentiles[1].level: got "500", want thousandths`, func(s *Summary) { s.Metrics[0].Percentiles[1].Level = 500 }},
		{`metrics[0].percentiles[1].value: got "450", want null, since it is infinite`, func(s *Summary) { s.Metrics[0].Percentiles[1].Value = formats.Some(450) }},
		{`metrics[0].percentiles[2].value: got "450", want at least that of the level before`, func(s *Summary) { s.Metrics[0].Percentiles[2].Value = formats.Some(450) }},
		{`metrics[0].percentiles[1].value: got "409", want at least that of the level before`, func(s *Summary) {
			s.Metrics[0].Percentiles[1].Infinite, s.Metrics[0].Percentiles[1].Value = false, formats.Some(409)
		}},
		{`metrics[0].percentiles[0].value: got "404", want a value inside its interval`, func(s *Summary) { s.Metrics[0].Percentiles[0].Value = formats.Some(404) }},
		{`metrics[0].percentiles[0].value: got "410", want null, since there are no values`, func(s *Summary) { s.Metrics[0].N = 0 }},
		{`columns.rows: got "1", want 2, as plan.rows`, func(s *Summary) { s.Columns.Rows = 1 }},
	} {
		s, err := Read(bytes.NewReader(b), "x")
		if err != nil {
			t.Fatal(err)
		}
		c.change(s)
		var changed bytes.Buffer
		if err := Write(&changed, s); err != nil {
			t.Fatal(err)
		}
		if s, err := Read(&changed, "x"); s != nil || !typed(err) || !strings.HasPrefix(err.Error(), "x: "+c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

// Columns that were changed by hand contradict the counts, or each other.
func TestColumnsContradict(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(c *Columns)
	}{
		{`outcome ok: got "2 rows, 2 in the window", want 1 and 1, as the summary counts`, func(c *Columns) { c.Strings["outcome"][1] = "ok" }},
		{`outcome http_error: got "0 rows, 0 in the window", want 1 and 1`, func(c *Columns) { c.Strings["outcome"][1] = "fine" }},
		{`in_window: got "0", want what the window says of u_ns, 4000012`, func(c *Columns) { c.Ints["in_window"][0] = formats.Some(0) }},
		{`in_window: got "7", want 0 or 1`, func(c *Columns) { c.Ints["in_window"][1] = formats.Some(7) }},
		{`in_window: got "null", want 0 or 1`, func(c *Columns) { c.Ints["in_window"][1] = formats.Int{} }},
		{`part: got "1", want one of 1 parts`, func(c *Columns) { c.Ints["part"][1] = formats.Some(1) }},
		{`request_id: got "null", want an id`, func(c *Columns) { c.Ints["request_id"][0] = formats.Int{} }},
		{`u_ns: got "7", want rows in the order of planned time and request id`, func(c *Columns) { c.Ints["u_ns"][1] = formats.Some(7) }},
		{`in_window: got "1", want what the window says of u_ns, null`, func(c *Columns) { c.Ints["u_ns"][1] = formats.Int{} }},
	} {
		s := example(t)
		cols, err := s.Decode("x")
		if err != nil {
			t.Fatal(err)
		}
		c.change(cols)
		if s.Columns, err = EncodeColumns(cols); err != nil {
			t.Fatal(err)
		}
		if cols, err := s.Decode("x"); cols != nil || !typed(err) || !strings.HasPrefix(err.Error(), "x: columns: "+c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	s := example(t)
	s.Columns = nil
	if cols, err := s.Decode("x"); cols != nil || err != nil {
		t.Errorf("Decode without columns = %v, %v; want neither", cols, err)
	}
}
