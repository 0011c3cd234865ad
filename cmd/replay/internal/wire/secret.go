package wire

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Secrets lists what must not appear in any output when requests carry these headers:
// every value, and of credentials with a scheme (Bearer TOKEN) the token too.
func Secrets(h http.Header) []string {
	var list []string
	for k, values := range h {
		for _, v := range values {
			list = append(list, v)
			if credential(k) {
				_, token, _ := strings.Cut(v, " ")
				list = append(list, token)
			}
		}
	}
	return list
}

func credential(header string) bool {
	switch http.CanonicalHeaderKey(header) {
	case "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key":
		return true
	}
	return false
}

// secretsOf lists what must not appear in an error text: what the options name, and the
// credentials the request carried, which servers like to repeat.
func secretsOf(o *Options, k *Kind, text string) []string {
	if text == "" {
		return nil
	}
	list := slices.Clone(o.Secrets)
	for name, values := range k.Header {
		if credential(name) {
			list = append(list, Secrets(http.Header{name: values})...)
		}
	}
	if u, err := url.Parse(k.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		list = append(list, password)
	}
	return list
}

// atLeast is how much of a secret gives it away where a text was cut inside it.
const atLeast = 4

// Redact puts [secret] in the place of every secret in text, as it is or as JSON writes
// it, and of the beginning of one where the text was cut.
func Redact(text string, secrets []string) string {
	for _, s := range forms(secrets) {
		text = strings.ReplaceAll(text, s, "[secret]")
		for n := len(s) - 1; n >= atLeast && strings.Contains(text, s[:atLeast]); n-- {
			if rest, cut := strings.CutSuffix(text, s[:n]); cut {
				text = rest + "[secret]"
				break
			}
			text = strings.ReplaceAll(text, s[:n]+"…", "[secret]…")
		}
	}
	return text
}

// forms returns the texts of the secrets, long ones first: one may be part of another.
func forms(secrets []string) []string {
	var all []string
	for _, s := range secrets {
		if s == "" {
			continue
		}
		all = append(all, s)
		if b, err := json.Marshal(s); err == nil {
			if quoted := string(b[1 : len(b)-1]); quoted != s {
				all = append(all, quoted)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// RedactJSON is Redact for a document: its strings are changed and it stays one.
func RedactJSON(doc json.RawMessage, secrets []string) json.RawMessage {
	if Redact(string(doc), secrets) == string(doc) {
		return doc
	}
	var v any
	d := json.NewDecoder(strings.NewReader(string(doc)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return json.RawMessage("null")
	}
	b, err := json.Marshal(redacted(v, secrets))
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

func redacted(v any, secrets []string) any {
	switch v := v.(type) {
	case string:
		return Redact(v, secrets)
	case []any:
		for i := range v {
			v[i] = redacted(v[i], secrets)
		}
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[Redact(k, secrets)] = redacted(x, secrets)
		}
		return m
	}
	return v
}
