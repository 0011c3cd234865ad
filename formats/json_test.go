package formats

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type document struct {
	Name  string             `json:"name"`
	N     int64              `json:"n"`
	Null  Int                `json:"null_int"`
	Share *float64           `json:"share"`
	Big   *json.Number       `json:"big"`
	List  []document         `json:"list"`
	Map   map[string]float64 `json:"map"`
	Raw   json.RawMessage    `json:"raw"`
	Note  string             `json:"note,omitempty"`
	Yes   bool               `json:"yes"`
}

func TestJSONRoundTrip(t *testing.T) {
	big, half := json.Number("340282366920938463463374607431768211455"), 0.5
	in := document{Name: "a<b", N: 1 << 62, Null: Some(3), Share: &half, Big: &big, Raw: json.RawMessage(`{"any":[1,2]}`),
		List: []document{{Raw: json.RawMessage("null")}}, Map: map[string]float64{"x": 1}, Yes: true}
	b, err := encodeJSON(&in)
	if err != nil {
		t.Fatal(err)
	}
	var out document
	if err := decodeJSON(b, "x", "document", &out); err != nil {
		t.Fatalf("decodeJSON(%s): %v", b, err)
	}
	again, err := encodeJSON(&out)
	if err != nil || string(again) != string(b) {
		t.Errorf("encoding again = %s, %v; want %s", again, err, b)
	}
	if in.List[0].List != nil {
		t.Error("encodeJSON changed its argument")
	}
	if !reflect.DeepEqual(out.Big, in.Big) || out.N != in.N || !strings.Contains(string(b), `"a<b"`) {
		t.Errorf("digits or letters were lost: %s", b)
	}
	for i := range len(b) {
		err := decodeJSON(b[:i], "x", "document", &out)
		var cut *TruncatedError
		var syntax *SyntaxError
		if !errors.As(err, &cut) && !errors.As(err, &syntax) {
			t.Fatalf("cut to %d bytes: %v; want a typed error", i, err)
		}
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	const good = `{"name":"","n":0,"null_int":null,"share":null,"big":null,"list":[],"map":{},"raw":null,"yes":false}` + "\n"
	var d document
	if err := decodeJSON([]byte(good), "x", "document", &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"name":""`, `"Name":""`, `x: key: got "Name", want a key of a document`},
		{`"n":0`, `"n":0,"n":1`, `x: key: got "n", want each key once`},
		{`"n":0,`, ``, `x: key: got "nothing", want n`},
		{`"n":0`, `"n":null`, `x: n: got "null", want a whole number of 64 bits`},
		{`"n":0`, `"n":"0"`, `x: n: got "0", want a whole number of 64 bits`},
		{`"n":0`, `"n":1.5`, `x: n: got "1.5", want a whole number of 64 bits`},
		{`"n":0`, `"n":9223372036854775808`, `x: n: got "9223372036854775808", want a whole number of 64 bits`},
		{`"share":null`, `"share":"1"`, `x: share: got "1", want a number`},
		{`"list":[]`, `"list":null`, `x: list: got "null", want a list`},
		{`"list":[]`, `"list":[{"name":1}]`, `x: list[0].name: got "1", want a string`},
		{`"yes":false`, `"yes":0`, `x: yes: got "0", want true or false`},
		{`"map":{}`, `"map":{"a":1,"a":2}`, `x: key: got "map.a", want each key once`},
		{"}\n", "} {}\n", `x: after the document: got "{}", want nothing`},
		{"}\n", "}", `x: truncated: got end of input, want the newline that ends a document`},
	} {
		err := decodeJSON([]byte(strings.Replace(good, c.old, c.new, 1)), "x", "document", &d)
		if err == nil || err.Error() != c.want {
			t.Errorf("with %s: %v; want %s", c.new, err, c.want)
		}
	}
}

// What encoding/json says is put into the form of our errors: the key, the value and
// what would have been right, without the names of Go types.
func TestDecodeJSONErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"n":"two"}`, `x: header.n: got "string", want a whole number of 64 bits`},
		{`{"n":1.0}`, `x: header.n: got "1.0", want a whole number of 64 bits`},
		{`{"n":9223372036854775808}`, `x: header.n: got "9223372036854775808", want a whole number of 64 bits`},
		{`{"share":1e400}`, `x: header.share: got "1e400", want a number of 64 bits`},
		{`{"list":{}}`, `x: header.list: got "object", want a list`},
		{`{"list":[{"name":7}]}`, `x: header.list.name: got "number", want a string`},
		{`[]`, `x: header: got "array", want an object`},
		{``, `x: header: got "end of text", want JSON: unexpected end of JSON input`},
		{`{"n":`, `x: header: got "end of text", want JSON: unexpected end of JSON input`},
		{`{"n":NaN,"yes":true}`, `x: header: got "NaN,\"yes\":true}", want JSON: invalid character 'N' looking for beginning of value`},
	} {
		var d document
		err := DecodeJSON([]byte(c.in), "x", "header", &d)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != c.want {
			t.Errorf("DecodeJSON(%s): %v; want %s", c.in, err, c.want)
		}
	}
	var d document
	err := decodeJSON([]byte("{\n\"name\":\"a\",\n\"share\":NaN}\n"), "x", "document", &d)
	if want := `x:3: text: got "NaN}\n", want JSON: invalid character 'N' looking for beginning of value`; err == nil || err.Error() != want {
		t.Errorf("decodeJSON: %v; want %s", err, want)
	}
	err = decodeJSON([]byte(`{"share":1e400}`+"\n"), "x", "document", &d)
	if want := `x: share: got "1e400", want a number`; err == nil || err.Error() != want {
		t.Errorf("decodeJSON: %v; want %s", err, want)
	}
}
