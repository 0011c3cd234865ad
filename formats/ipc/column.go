package ipc

import (
	"fmt"
	"strings"
)

// Column is one column of a table whose rows are structs of type T. The table in
// code, the schema in the file and the page in docs are all made from it.
type Column[T any] struct {
	Name    string
	Type    string // one of the type names of this package
	Unit    string // "ns", "tokens", … or "" for none
	Meaning string
	Null    string // what null means; "" when the column is never null
	Since   int    // format version that brought it

	// Field returns a pointer to the column's field: *int64, *float64, *string
	// (empty is null), *formats.Int (for int64 and bool), *[]int64 (nil is null)
	// or *[]formats.Int.
	Field func(*T) any
}

// Fields returns the schema of the columns.
func Fields[T any](cols []Column[T]) []Field {
	fs := make([]Field, len(cols))
	for i, c := range cols {
		fs[i] = Field{Name: c.Name, Type: c.Type, Nullable: c.Null != ""}
	}
	return fs
}

// internal is the panic of a broken invariant.
func internal(format string, a ...any) {
	panic("internal error: " + fmt.Sprintf(format, a...))
}

// Markdown returns the columns as the fields table of a format page.
func Markdown[T any](cols []Column[T]) string {
	var b strings.Builder
	b.WriteString("| name | type | unit | meaning | null means | since |\n|---|---|---|---|---|---|\n")
	for _, c := range cols {
		null := c.Null
		if null == "" {
			null = "never null"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %d |\n", c.Name, c.Type, c.Unit, c.Meaning, null, c.Since)
	}
	return b.String()
}
