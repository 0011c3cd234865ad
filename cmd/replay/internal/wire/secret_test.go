package wire

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

func TestSecrets(t *testing.T) {
	got := Secrets(http.Header{"Authorization": {"Bearer abc def"}, "X-Team": {"blue two"}})
	slices.Sort(got)
	if want := []string{"Bearer abc def", "abc def", "blue two"}; !slices.Equal(got, want) {
		t.Errorf("Secrets = %q; want %q", got, want)
	}
}

func TestRedact(t *testing.T) {
	secrets := []string{"", "sk-0123456789", "Bearer sk-0123456789", `a"b\c`}
	for text, want := range map[string]string{
		"":           "",
		"status 401": "status 401",
		"key sk-0123456789 of Bearer sk-0123456789": "key [secret] of [secret]",
		`{"x":"a\"b\\c"} a"b\c`:                     `{"x":"[secret]"} [secret]`,
		"cut off: sk-01234":                         "cut off: [secret]",
		`got {"key":"sk-0123…, want JSON`:           `got {"key":"[secret]…, want JSON`,
		"sk-":                                       "sk-",
	} {
		if got := Redact(text, secrets); got != want {
			t.Errorf("Redact(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestRedactJSON(t *testing.T) {
	secrets := []string{"7", "sk-01"}
	for doc, want := range map[string]string{
		`{"n":8,"a":["x"]}`:                      `{"n":8,"a":["x"]}`,
		`{"n":7,"a":["x sk-01",{"sk-01":true}]}`: `{"a":["x [secret]",{"[secret]":true}],"n":7}`,
		`{"n":9007199254740993,"s":"sk-01"}`:     `{"n":9007199254740993,"s":"[secret]"}`,
	} {
		got := RedactJSON(json.RawMessage(doc), secrets)
		if string(got) != want || !json.Valid(got) {
			t.Errorf("RedactJSON(%s) = %s; want %s", doc, got, want)
		}
	}
}
