package traces

import (
	"encoding/json"
	"testing"
)

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

func TestIsDecimal(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "12", "12.0", "0.052", "19440110.0", "1e3", "5e-05", "-1.5E+7", "00", "-", "", "+1", ".5", "5.", "1e", "1e+", "NaN", "nan", "inf", "Infinity",
		"1_000", "0x1", "1 ", " 1", "1,5", "--1", "1.2.3", "1e3.5", "٣", "01.5", "-01", "0e0",
	} {
		want := json.Valid([]byte(text)) && text[0] != ' ' && text[len(text)-1] != ' '
		if got := isDecimal([]byte(text)); got != want {
			t.Errorf("isDecimal(%q) = %v; want %v", text, got, want)
		}
	}
}

func FuzzIsDecimal(f *testing.F) {
	f.Add([]byte("-12.50e-3"))
	f.Add([]byte("1e"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !isDecimal(text) {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("isDecimal(%q): accepted what is no JSON number", text)
		}
		seconds(text, grainUS)
		whole(text)
	})
}

func TestSeconds(t *testing.T) {
	for _, tt := range []struct {
		in    string
		grain grain
		want  int64
		ok    bool
	}{
		{"0", grainUS, 0, true}, {"0.052", grainUS, 52_000_000, true}, {"199.96150599999999", grainUS, 199_961_506_000, true},
		{"3435.948056", grainUS, 3_435_948_056_000, true}, {"5e-07", grainUS, 1000, true}, {"4.9999e-07", grainUS, 0, true},
		{"19440110.0", grainMS, 19_440_110_000_000_000, true}, {"0.0005", grainMS, 1_000_000, true}, {"0.00049999999999", grainMS, 0, true}, {"-0.0005", grainMS, -1_000_000, true},
		{"340414", wholeSeconds, 340_414_000_000_000, true}, {"0.5", wholeSeconds, 1_000_000_000, true}, {"0.49", wholeSeconds, 0, true},
		{"1.12345675", grain100NS, 1_123_456_800, true}, {"1.12345674", grain100NS, 1_123_456_700, true},
		{"9223372036", wholeSeconds, 9_223_372_036_000_000_000, true}, {"9223372037", wholeSeconds, 0, false}, {"1e40", grainMS, 0, false}, {"-9223372037", grainUS, 0, false},
	} {
		if v, ok := seconds([]byte(tt.in), tt.grain); ok != tt.ok || ok && v != tt.want {
			t.Errorf("seconds(%q, %v) = %d, %v; want %d, %v", tt.in, tt.grain, v, ok, tt.want, tt.ok)
		}
	}
}
