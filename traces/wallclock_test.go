package traces

import (
	"testing"
	"time"
)

func TestWallClock(t *testing.T) {
	at := func(text string) int64 {
		v, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixNano()
	}
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"2023-11-16 18:17:03.9799600", at("2023-11-16T18:17:03.97996Z"), true},
		{"2024-05-10 00:00:00.009930+00:00", at("2024-05-10T00:00:00.00993Z"), true},
		{"2024-05-10 00:00:01+00:00", at("2024-05-10T00:00:01Z"), true},
		{"2024-02-29 23:59:59", at("2024-02-29T23:59:59Z"), true},
		{"2024-05-10 01:30:00.5+05:30", at("2024-05-09T20:00:00.5Z"), true},
		{"2024-05-10 01:30:00.5-08:00", at("2024-05-10T09:30:00.5Z"), true},
		{"2024-05-10 00:00:00.12345675", at("2024-05-10T00:00:00.1234568Z"), true},
		{"2024-05-10 00:00:00.123456749", at("2024-05-10T00:00:00.1234567Z"), true},
		{"2024-12-31 23:59:59.999999950", at("2025-01-01T00:00:00Z"), true},
		{"1970-01-01 00:00:00", 0, true},
		{"1970-01-01 00:00:00+00:01", 0, false},
		{"1969-12-31 23:59:59", 0, false},
		{"2262-04-11 23:47:15.9", at("2262-04-11T23:47:15.9Z"), true},
		{"2262-04-11 23:47:16", 0, false},
		{"9999-12-31 23:59:59", 0, false},
		{"2023-02-29 00:00:00", 0, false},
		{"2023-13-01 00:00:00", 0, false},
		{"2023-00-10 00:00:00", 0, false},
		{"2023-11-31 00:00:00", 0, false},
		{"2023-11-16 24:00:00", 0, false},
		{"2023-11-16 18:60:00", 0, false},
		{"2023-11-16 18:17:60", 0, false},
		{"2023-11-16T18:17:03", 0, false},
		{"2023-11-16 18:17", 0, false},
		{"2023-11-16", 0, false},
		{"2023-11-16 18:17:03.", 0, false},
		{"2023-11-16 18:17:03.1234567890", 0, false},
		{"2023-11-16 18:17:03+0000", 0, false},
		{"2023-11-16 18:17:03+00", 0, false},
		{"2023-11-16 18:17:03+24:00", 0, false},
		{"2023-11-16 18:17:03+00:60", 0, false},
		{"2023-11-16 18:17:03+00:00x", 0, false},
		{"2023-11-16 18:17:03Z", 0, false},
		{"2023-1-16 18:17:03", 0, false},
		{"-023-11-16 18:17:03", 0, false},
		{"", 0, false},
	} {
		if ns, ok := wallClock(tt.in); ok != tt.ok || ns != tt.want {
			t.Errorf("wallClock(%q) = %d, %v; want %d, %v", tt.in, ns, ok, tt.want, tt.ok)
		}
	}
}

// What wallClock accepts, package time reads alike.
func FuzzWallClock(f *testing.F) {
	f.Add("2023-11-16 18:17:03.9799600")
	f.Add("2024-05-10 00:00:00.009930+00:00")
	f.Add("2024-02-30 00:00:00-07:00")
	f.Fuzz(func(t *testing.T, text string) {
		ns, ok := wallClock(text)
		if !ok {
			return
		}
		want, err := time.Parse("2006-01-02 15:04:05-07:00", text)
		if err != nil {
			want, err = time.Parse("2006-01-02 15:04:05", text)
		}
		if err != nil {
			t.Fatalf("wallClock(%q) = %d; package time: %v", text, ns, err)
		}
		if got := time.Unix(0, ns); got.Sub(want).Abs() > 50*time.Nanosecond {
			t.Fatalf("wallClock(%q) = %v; package time says %v", text, got.UTC(), want.UTC())
		}
	})
}
