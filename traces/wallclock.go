package traces

import "time"

// wallClock reads a date and time, "YYYY-MM-DD HH:MM:SS" with 0 to 9 digits of a
// fraction and an offset "+HH:MM" behind it, each of them optional, and returns ns since
// 1970, rounded once to 100 ns. Without an offset it is UTC. Times before 1970 and after
// 2262, where 63 bits end, are not ok, nor are days that the calendar lacks and leap
// seconds.
func wallClock(text string) (ns int64, ok bool) {
	number := func(digits int) (v int) {
		if len(text) < digits {
			ok = false
			return 0
		}
		for _, ch := range []byte(text[:digits]) {
			if ch < '0' || ch > '9' {
				ok = false
			}
			v = v*10 + int(ch-'0')
		}
		text = text[digits:]
		return v
	}
	mark := func(ch byte) {
		if len(text) == 0 || text[0] != ch {
			ok = false
			return
		}
		text = text[1:]
	}
	ok = true
	year := number(4)
	mark('-')
	month := number(2)
	mark('-')
	day := number(2)
	mark(' ')
	hour := number(2)
	mark(':')
	minute := number(2)
	mark(':')
	second := number(2)
	if !ok || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Month() != time.Month(month) || t.Day() != day {
		return 0, false
	}
	fraction := int64(0) // ns
	if len(text) > 0 && text[0] == '.' {
		n := 1
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		if n == 1 || n > 10 {
			return 0, false
		}
		fraction, _ = seconds([]byte("0"+text[:n]), grain100NS)
		text = text[n:]
	}
	ahead := 0 // of UTC, minutes
	if len(text) > 0 {
		sign := 1
		if text[0] == '-' {
			sign = -1
		} else if text[0] != '+' {
			return 0, false
		}
		text = text[1:]
		hours := number(2)
		mark(':')
		minutes := number(2)
		if !ok || len(text) > 0 || hours > 23 || minutes > 59 {
			return 0, false
		}
		ahead = sign * (60*hours + minutes)
	}
	s := t.Unix() - 60*int64(ahead)
	if s < 0 || s >= lastSecond {
		return 0, false
	}
	return s*1_000_000_000 + fraction, true
}

// lastSecond is where ns since 1970 leave 63 bits, in 2262.
const lastSecond = (1<<63 - 1) / 1_000_000_000
