package wire

import (
	"math"
	"testing"
)

func TestDelays(t *testing.T) {
	d := new(Delays)
	if got := d.TakeP99(); got.Valid {
		t.Errorf("p99 of nothing = %v; want null", got)
	}
	for ns := int64(1); ns <= 1000; ns++ {
		d.add(ns*1000, 1)
	}
	if got := d.TakeP99(); got.V < 990_000 || got.V > 990_000*33/32 {
		t.Errorf("p99 of 1 to 1000 µs = %v; want 990 µs and at most 1/32 more", got)
	}
	if got := d.TakeP99(); got.Valid {
		t.Errorf("p99 after it was taken = %v; want null", got)
	}
	d.add(5, 99)
	d.add(1_000_000, 1)
	if got := d.TakeP99(); got.V != 5 {
		t.Errorf("p99 of 99 small and one large = %v; want 5", got)
	}
}

// Buckets follow each other without a hole, and hold what they say.
func TestDelayBuckets(t *testing.T) {
	for i := range len(Delays{}.buckets) - 1 {
		most := longest(i)
		if most == math.MaxInt64 {
			break
		}
		if bucketOf(most) != i || bucketOf(most+1) != i+1 {
			t.Fatalf("bucket %d ends at %d, which is in bucket %d and the next in %d", i, most, bucketOf(most), bucketOf(most+1))
		}
	}
	new(Delays).add(math.MaxInt64, 1)
	new(Delays).add(-5, 1)
}
