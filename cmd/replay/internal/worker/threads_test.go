package worker

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

func setup() link.Setup {
	return link.Setup{URLs: []string{"http://a"}, Endpoint: "chat", Prompt: "text", Model: "m", Stream: true, PinOutput: true, Seed: 7}
}

func deltaJob(id int64, stream string, turn int64, last bool) *link.Job {
	return &link.Job{Request: schedule.Request{ID: id, Session: "s", Stream: stream, Turn: turn, Last: last, Context: schedule.Delta,
		AtNS: formats.Some(0), InputTokens: formats.Some(3), OutputTokens: formats.Some(5)}}
}

func newTestComposer(t *testing.T, s link.Setup) *composer {
	t.Helper()
	c, err := newComposer(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// turn composes a job and lands it with an outcome and a reply.
func turn(t *testing.T, c *composer, j *link.Job, outcome, reply string) (string, error) {
	t.Helper()
	f := newFlight(j)
	p, err := c.compose(f)
	row := &run.Request{Outcome: outcome}
	if err != nil {
		row.Outcome, row.Error = run.NotSent, err.Error()
		c.learn(f, row)
		return "", err
	}
	body := string(p.Body)
	p.Reply = []byte(reply)
	f.prepare(p)
	row.DispatchedNS = formats.Some(1)
	c.learn(f, row)
	return body, nil
}

func TestHistoryIsSentOnce(t *testing.T) {
	c := newTestComposer(t, setup())
	var after [][]int64
	jobs := []*link.Job{deltaJob(0, "0", 0, false), deltaJob(1, "0", 1, false), deltaJob(2, "0", 2, true)}
	for _, j := range jobs {
		after = append(after, c.begin(j))
	}
	if got := fmt.Sprint(after); got != "[[] [0] [1]]" {
		t.Errorf("waits for %s; want each turn for the one before it", got)
	}
	var bodies []string
	for i, j := range jobs {
		body, err := turn(t, c, j, run.OK, fmt.Sprintf("reply%d", i))
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	for i, body := range bodies {
		for k := range 3 {
			want := 0
			if k < i {
				want = 1
			}
			if n := strings.Count(body, fmt.Sprintf("reply%d", k)); n != want {
				t.Errorf("turn %d holds reply %d %d times; want %d", i, k, n, want)
			}
		}
		if n := strings.Count(body, `"role":"user"`); n != i+1 {
			t.Errorf("turn %d has %d user messages; want %d", i, n, i+1)
		}
	}
	if len(c.open) != 0 {
		t.Errorf("%d sessions are remembered after their last line", len(c.open))
	}
}

func TestALostReplyEndsTheSession(t *testing.T) {
	for _, c := range []struct{ outcome, reply, want string }{
		{run.OK, "", "answered with nothing"},
		{run.Truncated, "half", "ended as truncated"},
		{run.HTTPError, "", "ended as http_error"},
		{run.CancelledPlanned, "part", "ended as cancelled_planned"},
	} {
		comp := newTestComposer(t, setup())
		jobs := []*link.Job{deltaJob(4, "0", 0, false), deltaJob(5, "0", 1, false), deltaJob(6, "1", 0, false), deltaJob(7, "0", 2, true)}
		for _, j := range jobs {
			comp.begin(j)
		}
		if _, err := turn(t, comp, jobs[0], c.outcome, c.reply); err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs[1:] {
			_, err := turn(t, comp, j, run.OK, "x")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "request 4") {
				t.Errorf("after %s %q, turn %d: %v; want %q of request 4", c.outcome, c.reply, j.Request.ID, err, c.want)
			}
		}
		if len(comp.open) != 0 {
			t.Error("the session is remembered after its last line")
		}
	}
}

func TestWholeLinesHaveNoHistory(t *testing.T) {
	c := newTestComposer(t, setup())
	j := deltaJob(0, "0", 0, false)
	j.Request.Context = schedule.Whole
	c.begin(j)
	body, err := turn(t, c, j, run.HTTPError, "")
	if err != nil || len(c.open) != 0 {
		t.Fatal(err, len(c.open))
	}
	k := *j
	k.Request.ID = 1
	again, err := turn(t, c, &k, run.OK, "x")
	if err != nil || again != body {
		t.Errorf("the same line gives %q, then %q (%v)", body, again, err)
	}
}

func TestBodiesDependOnTheLineAlone(t *testing.T) {
	s := setup()
	s.URLs = []string{"http://a", "http://b", "http://c"}
	s.CancelPPM, s.CancelNS = 250_000, 5
	jobs := make([]*link.Job, 400)
	for i := range jobs {
		jobs[i] = &link.Job{Request: schedule.Request{ID: int64(i), Session: fmt.Sprint("session", i/2), Stream: "0", Turn: int64(i % 2), Context: schedule.Whole,
			InputTokens: formats.Some(40), OutputTokens: formats.Some(2), Blocks: &schedule.Blocks{Scope: "x", Add: [][2]int64{{int64(i / 2), 2}}}},
			Block: &schedule.Block{Tokens: 16, Last: schedule.Absent}}
	}
	type sent struct {
		body, url string
		cut       bool
	}
	first := map[int]sent{}
	c := newTestComposer(t, s)
	cuts, urls := 0, map[string]int{}
	for i, j := range jobs {
		p, err := c.compose(newFlight(j))
		if err != nil {
			t.Fatal(err)
		}
		first[i] = sent{string(p.Body), p.URL, p.CancelAfter > 0}
		urls[p.URL]++
		if p.CancelAfter > 0 {
			cuts++
		}
		if i%2 == 1 && first[i].url != first[i-1].url {
			t.Errorf("session of request %d changes its server", i)
		}
	}
	if cuts < 60 || cuts > 140 {
		t.Errorf("%d of 400 are cut; want about a quarter", cuts)
	}
	for _, u := range s.URLs {
		if n := urls[u+"/v1/chat/completions"]; n < 70 {
			t.Errorf("%s gets %d of 400; want about a third", u, n)
		}
	}
	other := newTestComposer(t, s)
	for i := len(jobs) - 1; i >= 0; i-- {
		p, err := other.compose(newFlight(jobs[i]))
		if err != nil {
			t.Fatal(err)
		}
		if got := (sent{string(p.Body), p.URL, p.CancelAfter > 0}); got != first[i] {
			t.Fatalf("request %d differs in another worker and order", i)
		}
	}
	s.Seed++
	p, err := newTestComposer(t, s).compose(newFlight(jobs[0]))
	if err != nil || bytes.Equal(p.Body, []byte(first[0].body)) {
		t.Errorf("another seed gives the same body (%v)", err)
	}
}
