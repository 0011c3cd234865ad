package stats

import (
	"math"
	"reflect"
	"testing"
)

// Values counted once each are those that are counted n times.
func TestAddOneIsAdd(t *testing.T) {
	values := []int64{-5, 0, 1, 2047, 2048, 5e9, -1 << 40, wideMax - 1, wideMax, math.MaxInt64, math.MinInt64, 7, 7}
	var one, many Wide
	for _, v := range values {
		one.AddOne(v)
		many.Add(v, 1)
	}
	if !reflect.DeepEqual(one, many) || one.N() != int64(len(values)) {
		t.Errorf("%d values one by one are others than counted n times", one.N())
	}
}
