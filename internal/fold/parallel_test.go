package fold

import (
	"runtime"
	"testing"

	"hydrant/formats/run"
)

// Enough rows to be shared among CPUs give the bytes that one CPU gives.
func TestManyRowsOnAnyCPUs(t *testing.T) {
	rows := randomRows(31, fewRows+3*blockRows+7)
	data := encode(t, testHeader(), rows, nil, run.End{}, 4096)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := bytesOf(t, reduce(t, whole(), data))
	runtime.GOMAXPROCS(4)
	if four := bytesOf(t, reduce(t, whole(), data)); one != four {
		t.Errorf("on four CPUs %s", firstDifference(one, four))
	}
}
