package traces

import "testing"

func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"12", 12, true}, {"12.0", 12, true}, {"12.50", 0, false}, {"1.2e1", 12, true}, {"120e-1", 12, true},
		{"-3", -3, true}, {"-0.0", 0, true}, {"9007199254740993", 1<<53 + 1, true}, {"9223372036854775807", 1<<63 - 1, true},
		{"9223372036854775808", 0, false}, {"1e19", 0, false}, {"1e999999999999", 0, false}, {"1e-999999999999", 0, false}, {"0e999", 0, true},
	} {
		if v, ok := whole([]byte(tt.in)); ok != tt.ok || ok && v != tt.want {
			t.Errorf("whole(%q) = %d, %v; want %d, %v", tt.in, v, ok, tt.want, tt.ok)
		}
	}
}

func TestMilliseconds(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"0.0", 0, true}, {"614.0", 614_000_000, true}, {"6573.6", 6_573_600_000, true}, {"1878000", 1_878_000_000_000, true},
		{"0.0005", 1000, true}, {"0.00049999", 0, true}, {"0.0015", 2000, true}, {"-0.0005", -1000, true}, {"1e3", 1_000_000_000, true},
		{"0.09999999", 100_000, true}, {"0.99999999", 1_000_000, true}, {"9223372036854.775", 9223372036854775000, true}, {"9223372036855", 0, false}, {"1e30", 0, false},
	} {
		if v, ok := milliseconds([]byte(tt.in)); ok != tt.ok || ok && v != tt.want {
			t.Errorf("milliseconds(%q) = %d, %v; want %d, %v", tt.in, v, ok, tt.want, tt.ok)
		}
	}
}
