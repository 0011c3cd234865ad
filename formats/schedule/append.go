package schedule

import (
	"bytes"
	"encoding/json"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// AppendRequest appends r as one line without its newline. The keys stand in the
// order of Fields; what is null, empty or false is left out, so that equal
// requests give equal bytes.
func AppendRequest(dst []byte, r *Request) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, r.ID, 10)
	dst = appendInt(dst, `,"at_ns":`, r.AtNS)
	if len(r.After) > 0 {
		dst = append(dst, `,"after":[`...)
		for i, id := range r.After {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, id, 10)
		}
		dst = append(dst, ']')
	}
	dst = appendInt(dst, `,"delay_ns":`, r.DelayNS)
	dst = appendText(dst, `,"session":`, r.Session)
	dst = appendText(dst, `,"stream":`, r.Stream)
	dst = append(dst, `,"turn":`...)
	dst = strconv.AppendInt(dst, r.Turn, 10)
	if r.Last {
		dst = append(dst, `,"last":true`...)
	}
	dst = appendText(dst, `,"context":`, r.Context)
	dst = appendInt(dst, `,"input_tokens":`, r.InputTokens)
	dst = appendInt(dst, `,"output_tokens":`, r.OutputTokens)
	if r.Blocks != nil {
		dst = appendBlocks(dst, r.Blocks)
	}
	dst = appendText(dst, `,"model":`, r.Model)
	dst = appendText(dst, `,"class":`, r.Class)
	dst = appendInt(dst, `,"priority":`, r.Priority)
	if r.Recorded != (Recorded{}) {
		at := len(dst)
		dst = appendInt(dst, `,"ttft_ns":`, r.Recorded.TTFTNS)
		dst = appendInt(dst, `,"e2e_ns":`, r.Recorded.E2ENS)
		dst = appendInt(dst, `,"cached_tokens":`, r.Recorded.CachedTokens)
		inner := string(dst[at+1:])
		dst = append(dst[:at], `,"recorded":{`...)
		dst = append(append(dst, inner...), '}')
	}
	dst = appendRaw(dst, `,"body":`, r.Body)
	dst = appendRaw(dst, `,"extra":`, r.Extra)
	return append(dst, '}')
}

func appendBlocks(dst []byte, b *Blocks) []byte {
	dst = append(dst, `,"blocks":{"scope":`...)
	dst = jsonl.AppendString(dst, b.Scope)
	dst = append(dst, `,"keep":`...)
	dst = strconv.AppendInt(dst, b.Keep, 10)
	dst = append(dst, `,"add":[`...)
	for i, run := range b.Add {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, run[0], 10)
		dst = append(dst, ',')
		dst = strconv.AppendInt(dst, run[1], 10)
		dst = append(dst, ']')
	}
	dst = append(dst, ']')
	if b.System > 0 {
		dst = strconv.AppendInt(append(dst, `,"system":`...), b.System, 10)
	}
	return append(dst, '}')
}

func appendInt(dst []byte, key string, v formats.Int) []byte {
	if !v.Valid {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), v.V, 10)
}

func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return jsonl.AppendString(append(dst, key...), s)
}

// appendRaw appends literal JSON as it is; only line breaks between its tokens
// make it compact, since a line cannot hold them.
func appendRaw(dst []byte, key string, raw json.RawMessage) []byte {
	if raw == nil {
		return dst
	}
	dst = append(dst, key...)
	if bytes.ContainsAny(raw, "\n\r") {
		var buf bytes.Buffer
		if json.Compact(&buf, raw) == nil {
			raw = buf.Bytes()
		}
	}
	return append(dst, raw...)
}
