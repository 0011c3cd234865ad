package decide

import (
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

// columns returns n rows, all in the window, ok, 1 s apart and without values.
func columns(n int) *summary.Columns {
	c := &summary.Columns{N: n, Ints: map[string][]formats.Int{}, Strings: map[string][]string{}}
	for _, name := range summary.IntColumns {
		c.Ints[name] = make([]formats.Int, n)
	}
	for _, name := range summary.StringColumns {
		c.Strings[name] = make([]string, n)
	}
	for i := range n {
		c.Ints["request_id"][i] = formats.Some(int64(i))
		c.Ints["u_ns"][i] = formats.Some(int64(i) * 1e9)
		c.Ints["in_window"][i] = formats.Some(1)
		c.Ints["sent"][i] = formats.Some(1)
		c.Ints["conn_asked_ns"][i] = formats.Some(int64(i) * 1e9)
		c.Ints["input_tokens"][i] = formats.Some(100)
		c.Ints["output_tokens"][i] = formats.Some(10)
		c.Ints["token_events"][i] = formats.Some(10)
		c.Strings["outcome"][i] = run.OK
	}
	return c
}

// set fills one column.
func set(c *summary.Columns, name string, value func(i int) int64) *summary.Columns {
	for i := range c.N {
		c.Ints[name][i] = formats.Some(value(i))
	}
	return c
}

// decide parses and decides objectives over c.
func decide(c *summary.Columns, texts ...string) []Decision {
	var all []slo.Objective
	for _, text := range texts {
		o, err := slo.Parse("test", text)
		if err != nil {
			panic(err)
		}
		all = append(all, o...)
	}
	return All(all, Evidence{Columns: c, ToNS: int64(c.N) * 1e9})
}
