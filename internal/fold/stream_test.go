package fold

import (
	"testing"

	"hydrant/formats/run"
)

// Of an answer that comes whole nobody saw the first token: how long it took as a whole
// is known, when its first token came is not. Its tokens are counted all the same.
func TestWholeAnswersHaveNoFirstToken(t *testing.T) {
	rows := randomRows(3, 200)
	for _, streaming := range []bool{true, false} {
		h := testHeader()
		h.Streaming = streaming
		s := reduce(t, whole(), encode(t, h, rows, nil, run.End{}, 50))
		for _, id := range []string{"ttft_user", "ttft_wire", "ttft_sent", "ttfo_user", "ttfo_wire", "ttfo_sent"} {
			if m := metricOf(t, s, id, "ok"); (m.N > 0) != streaming {
				t.Errorf("streaming %v: %s has n = %d", streaming, id, m.N)
			}
		}
		if m := metricOf(t, s, "e2e_user", "ok"); m.N == 0 {
			t.Errorf("streaming %v: e2e_user has no value", streaming)
		}
		if x := scalarOf(t, s, "output_tokens_total"); x.Value == nil || *x.Value == 0 {
			t.Errorf("streaming %v: no tokens are counted", streaming)
		}
	}
}
