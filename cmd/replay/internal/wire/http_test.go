package wire

import (
	"testing"

	"hydrant/formats/run"
)

func TestOK(t *testing.T) {
	s := serve(t, say(whole(roleEvent, contentEvent("a"), contentEvent("b"), finishEvent, usageEvent(5, 2), doneEvent)))
	row := do(t, engine(t, Options{}), prepared(t, s.url()))
	t.Logf("%+v", row)
	if row.Outcome != run.OK {
		t.Error(row.Outcome, row.Error)
	}
}
