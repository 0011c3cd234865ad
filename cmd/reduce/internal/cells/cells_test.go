package cells

import "testing"

func TestLevelName(t *testing.T) {
	for level, want := range map[int64]string{10: "p1", 500: "p50", 999: "p99.9"} {
		if got := LevelName(level); got != want {
			t.Errorf("LevelName(%d) = %q; want %q", level, got, want)
		}
	}
}

func TestGroupText(t *testing.T) {
	if got := GroupText([]Label{{"class", "chat"}, {"turn", "2"}}); got != "class=chat,turn=2" {
		t.Errorf("GroupText = %q; want class=chat,turn=2", got)
	}
	if got := GroupText(nil); got != "" {
		t.Errorf("GroupText(nil) = %q; want nothing", got)
	}
}
