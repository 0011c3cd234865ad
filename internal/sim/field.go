package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Field is one key of a spec. The table of docs/sim.md is checked against Fields.
type Field struct {
	Key     string
	Type    string // "count", "switch", "duration", …
	Unit    string // unit of a plain number
	Default string // written value in "default"
	Null    string // written value in "null"; "" where the key has no effect there
	Meaning string

	get func(*Spec) string
	set func(*Spec, string) error
}

// Fields is every key of a spec except the faults, in the order String writes them.
var Fields = fields()

func fields() []Field {
	d, n := Default(), Null()
	timed := map[string]bool{"slots": true, "stagger": true, "prefill": true, "chunk": true, "step": true,
		"step_per_seq": true, "jitter": true, "service": true, "queue": true}
	all := []Field{
		word("model", "name", "the model's name in /v1/models; a request for another gets 404", func(s *Spec) *string { return &s.Model }),
		whole("slots", "sequences", "sequences decoded at the same time; others wait, first come first served", 1, 1<<20, func(s *Spec) *int { return &s.Slots }),
		toggle("stagger", "each slot is paced on its own offset; off: all slots step together in one loop", func(s *Spec) *bool { return &s.Stagger }),
		{Key: "prefill", Type: "rate", Unit: "tokens/s", Meaning: "speed of the prefill; `inf`: it takes no time",
			get: func(s *Spec) string {
				if s.Prefill == 0 {
					return "inf"
				}
				return strconv.FormatFloat(s.Prefill, 'g', -1, 64)
			},
			set: func(s *Spec, v string) error {
				if v == "inf" {
					s.Prefill = 0
					return nil
				}
				f, err := strconv.ParseFloat(v, 64)
				if err != nil || !(f > 0) || math.IsInf(f, 0) {
					return errors.New("want tokens per second above 0, such as 1e6, or inf")
				}
				s.Prefill = f
				return nil
			}},
		whole("chunk", "tokens", "prompt tokens prefilled per iteration at most, when slots step together", 1, 1<<30, func(s *Spec) *int { return &s.Chunk }),
		span("step", "a decode step, before what each sequence adds", func(s *Spec) *time.Duration { return &s.Step }),
		span("step_per_seq", "what each occupied slot adds to a step", func(s *Spec) *time.Duration { return &s.StepPerSeq }),
		dist("jitter", "", "factor", "random factor on each decode step", func(s *Spec) *Dist { return &s.Jitter }),
		dist("service", "s", "duration", "random time in the slot, instead of prefill and steps; its token events are spread evenly; needs stagger", func(s *Spec) *Dist { return &s.Service }),
		{Key: "cache", Type: "count", Unit: "blocks", Meaning: "capacity of the prefix cache, least recently used blocks leave; 0: no cache; `unbounded`",
			get: func(s *Spec) string {
				if s.Cache == Unbounded {
					return "unbounded"
				}
				return strconv.FormatInt(s.Cache, 10)
			},
			set: func(s *Spec, v string) error {
				if v == "unbounded" {
					s.Cache = Unbounded
					return nil
				}
				n, err := strconv.ParseInt(v, 10, 64)
				if err != nil || n < 0 || n > 1<<30 {
					return errors.New("want blocks from 0 to 1073741824, or unbounded")
				}
				s.Cache = n
				return nil
			}},
		whole("block", "tokens", "prompt tokens per block of the prefix cache", 1, 1<<20, func(s *Spec) *int { return &s.Block }),
		whole("output", "tokens", "length of an answer whose request names no limit", 0, 1<<24, func(s *Spec) *int { return &s.Output }),
		dist("eos", "", "tokens", "random length at which the model ends by itself (rounded up, at least 1); ignored under `ignore_eos`, never below `min_tokens`", func(s *Spec) *Dist { return &s.EOS }),
		whole("template", "tokens", "tokens that the chat template puts before each chat prompt; they are counted and cached", 0, 1<<20, func(s *Spec) *int { return &s.Template }),
		whole("tokens_per_event", "tokens", "tokens that one decode step makes and one event carries, as speculative decoding does", 1, 1<<16, func(s *Spec) *int { return &s.TokensPerEvent }),
		whole("reasoning", "tokens", "first tokens of a chat answer, sent as `reasoning_content`; a whole number of events, rounded up", 0, 1<<24, func(s *Spec) *int { return &s.Reasoning }),
		toggle("role_event", "a chat stream opens, when its slot is assigned, with an event that has a role and no text", func(s *Spec) *bool { return &s.RoleEvent }),
		choice("usage", "`final`: as `stream_options` asks; `chunks`: in every event, asked for or not; `none`: never", func(s *Spec) *string { return &s.Usage }, "final", "chunks", "none"),
		whole("bundle", "events", "token events held back until this many can be written at once; 0: until the answer is whole", 0, 1<<20, func(s *Spec) *int { return &s.Bundle }),
		choice("eol", "line ends of the event stream", func(s *Spec) *string { return &s.EOL }, "lf", "crlf", "cr"),
		whole("queue", "requests", "waiting requests at most; one more gets 503", 0, 1<<20, func(s *Spec) *int { return &s.Queue }),
		whole("conns", "connections", "open connections at most; one more is closed when accepted", 1, 1<<20, func(s *Spec) *int { return &s.Conns }),
		whole("context", "tokens", "prompt and output tokens of a request at most; more gets 400", 1, 1<<30, func(s *Spec) *int { return &s.Context }),
		{Key: "body", Type: "bytes", Unit: "bytes", Meaning: "size of a request body at most; more gets 413",
			get: func(s *Spec) string { return formatBytes(s.Body) },
			set: func(s *Spec, v string) error {
				n, err := parseBytes(v)
				if err != nil || n < 1 || n > 1<<30 {
					return errors.New("want bytes such as 64MiB, from 1 to 1GiB")
				}
				s.Body = n
				return nil
			}},
		{Key: "seed", Type: "number", Unit: "", Meaning: "seed of every random choice; each purpose has its own stream of numbers",
			get: func(s *Spec) string { return strconv.FormatInt(s.Seed, 10) },
			set: func(s *Spec, v string) error {
				n, err := strconv.ParseInt(v, 10, 64)
				if err != nil {
					return errors.New("want a whole number")
				}
				s.Seed = n
				return nil
			}},
	}
	for i := range all {
		f := &all[i]
		f.Default = f.get(&d)
		if !timed[f.Key] {
			f.Null = f.get(&n)
		}
	}
	return all
}

func fieldByKey(key string) *Field {
	for i := range Fields {
		if Fields[i].Key == key {
			return &Fields[i]
		}
	}
	return nil
}

// knownKeys lists what may stand in a spec, fields first.
func knownKeys() []string {
	var k []string
	for i := range Fields {
		k = append(k, Fields[i].Key)
	}
	for i := range FaultKinds {
		k = append(k, FaultKinds[i].Key)
	}
	return k
}

func whole(key, unit, meaning string, low, high int, at func(*Spec) *int) Field {
	return Field{Key: key, Type: "count", Unit: unit, Meaning: meaning,
		get: func(s *Spec) string { return strconv.Itoa(*at(s)) },
		set: func(s *Spec, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < low || n > high {
				return fmt.Errorf("want a whole number of %s from %d to %d", unit, low, high)
			}
			*at(s) = n
			return nil
		}}
}

func span(key, meaning string, at func(*Spec) *time.Duration) Field {
	return Field{Key: key, Type: "duration", Unit: "", Meaning: meaning,
		get: func(s *Spec) string { return at(s).String() },
		set: func(s *Spec, v string) error {
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 || d > time.Hour {
				return errors.New("want a duration such as 5ms or 20us, at most 1h")
			}
			*at(s) = d
			return nil
		}}
}

func dist(key, unit, shown, meaning string, at func(*Spec) *Dist) Field {
	return Field{Key: key, Type: "distribution", Unit: shown, Meaning: meaning,
		get: func(s *Spec) string { return at(s).format(unit) },
		set: func(s *Spec, v string) (err error) {
			*at(s), err = parseDist(v, unit)
			return err
		}}
}

func toggle(key, meaning string, at func(*Spec) *bool) Field {
	return Field{Key: key, Type: "switch", Meaning: meaning,
		get: func(s *Spec) string { return strconv.FormatBool(*at(s)) },
		set: func(s *Spec, v string) error {
			if v != "true" && v != "false" {
				return errors.New("want true or false")
			}
			*at(s) = v == "true"
			return nil
		}}
}

func choice(key, meaning string, at func(*Spec) *string, words ...string) Field {
	return Field{Key: key, Type: "word", Meaning: meaning,
		get: func(s *Spec) string { return *at(s) },
		set: func(s *Spec, v string) error {
			if !slices.Contains(words, v) {
				return errors.New("want " + strings.Join(words, ", "))
			}
			*at(s) = v
			return nil
		}}
}

func word(key, typ, meaning string, at func(*Spec) *string) Field {
	return Field{Key: key, Type: typ, Meaning: meaning,
		get: func(s *Spec) string { return *at(s) },
		set: func(s *Spec, v string) error {
			if v == "" || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' }) {
				return errors.New("want printable ASCII without spaces, quotes and backslashes")
			}
			*at(s) = v
			return nil
		}}
}

// byteUnits are powers of 1024, largest first.
var byteUnits = [...]struct {
	name string
	size int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func parseBytes(s string) (int64, error) {
	scale := int64(1)
	for _, u := range byteUnits {
		if v, ok := strings.CutSuffix(s, u.name); ok {
			s, scale = v, u.size
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/scale {
		return 0, errors.New("want bytes such as 64MiB")
	}
	return n * scale, nil
}

func formatBytes(n int64) string {
	for _, u := range byteUnits {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
