package pipe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

// docs/pipes.md states figures of this package.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(fixture.Root(), "docs", "pipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{
		fmt.Sprintf("N writers, 1 to %d", maxPeers),
		"(1 minute by default)",
		fmt.Sprintf("at least every %.0f s", maxBeat.Seconds()),
		fmt.Sprintf("At most %d MiB are under way", window>>20),
		fmt.Sprintf("beyond\n  %d KiB each", queueOther>>10),
		fmt.Sprintf("`%s`", frameMagic),
		"at most 262,144",
		fmt.Sprintf("version (%d)", protoVersion),
		fmt.Sprintf("| %d | both | hello |", kindHello),
		fmt.Sprintf("| %d | reader | admit |", kindAdmit),
		fmt.Sprintf("| %d | writer | data |", kindData),
		fmt.Sprintf("| %d | writer | end |", kindEnd),
		fmt.Sprintf("| %d | writer | abort |", kindAbort),
		fmt.Sprintf("| %d | reader | ack |", kindAck),
		fmt.Sprintf("| %d | reader | done |", kindDone),
		fmt.Sprintf("| %d | reader | leave |", kindLeave),
		fmt.Sprintf("| %d | both | alive |", kindAlive),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/pipes.md does not say %q", want)
		}
	}
	if DefaultTimeout.String() != "1m0s" || maxPayload != 262144 {
		t.Errorf("the page says 1 minute and 262,144; the code %v and %d", DefaultTimeout, maxPayload)
	}
}
