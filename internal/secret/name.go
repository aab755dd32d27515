package secret

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// inNames mark a credential wherever they stand in a name: X-Api-Key, authToken.
var inNames = []string{"auth", "key", "token", "secret", "cookie", "password", "passwd", "passphrase", "credential", "signature", "bearer", "jwt"}

// words mark a credential as a word of a name of its own: X-Pass, signing_pin, but
// neither passes nor spin.
var words = []string{"pwd", "pass", "pat", "pin", "sig", "sas", "sid", "otp", "csrf", "xsrf", "private", "access", "session", "login", "cred", "creds"}

// notNames are parts of names that hold such a word and say nothing secret: fields of
// request bodies, most of them.
var notNames = strings.NewReplacer(
	"tokenizer", "", "tokenize", "", "tokens", "", "token_id", "", "token_budget", "", "token_count", "", "token_limit", "", "token_length", "",
	"token_prob", "", "token_logprob", "", "token_healing", "",
	"first_token", "", "last_token", "", "stop_token", "", "eos_token", "", "bos_token", "", "pad_token", "", "unk_token", "", "image_token", "",
	"keep_alive", "", "keyword", "",
)

// Name reports whether what goes by this name is a credential: a header, a field of a
// body, a parameter of a URL.
func Name(name string) bool {
	low := notNames.Replace(strings.ToLower(strings.TrimSpace(name)))
	for _, w := range inNames {
		if strings.Contains(low, w) {
			return true
		}
	}
	for _, w := range wordsOf(name) {
		if slices.Contains(words, w) {
			return true
		}
	}
	return false
}

// wordsOf cuts a name where a letter follows none, and at capitals: sessionID2 has
// session and id.
func wordsOf(name string) []string {
	name = notNames.Replace(name)
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	small := false // the letter before
	for _, r := range name {
		if !unicode.IsLetter(r) || small && unicode.IsUpper(r) {
			end()
		}
		if unicode.IsLetter(r) {
			word = append(word, r)
		}
		small = unicode.IsLower(r)
	}
	end()
	return out
}

// harmless are headers whose values are shown: none of them carries a credential.
var harmless = []string{
	"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "content-encoding", "content-language",
	"content-length", "content-type", "date", "dnt", "expect", "host", "keep-alive", "max-forwards", "origin", "pragma", "prefer", "priority", "range", "te",
	"traceparent", "transfer-encoding", "user-agent", "x-correlation-id", "x-request-id", "x-request-timeout", "x-trace-id",
	"anthropic-beta", "anthropic-version", "openai-beta",
}

// Header reports whether the value of a request header may be a credential: that of
// every header may that is not known to carry none.
func Header(name string) bool {
	return !slices.Contains(harmless, strings.ToLower(name))
}

// Mark is what is shown of a header's value: the value where it is harmless, Mask where
// the name is that of a credential, and else Mask with 8 bits of a hash, so that runs
// with different values look different (255 times in 256) while far too little is told
// to find the value by.
func Mark(header, value string) string {
	switch {
	case value == "" || !Header(header) || Marked(value):
		return value
	case Name(header):
		return Mask
	}
	return fmt.Sprintf("%s#%02x", Mask, sha256.Sum256([]byte(strings.ToLower(header) + "\x00" + value))[0])
}

// Marked reports whether a value is what Mark shows in place of one.
func Marked(value string) bool {
	rest, ok := strings.CutPrefix(value, Mask)
	if !ok || rest == "" {
		return ok
	}
	return len(rest) == 3 && rest[0] == '#' && isHex(rest[1]) && isHex(rest[2])
}

// placeholder is a text that only says where a value is to be filled in: {prompt}.
func placeholder(v string) bool {
	return len(v) > 2 && v[0] == '{' && v[len(v)-1] == '}' && !strings.ContainsAny(v[1:len(v)-1], "{}\" ")
}

// minDigits is the shortest number that is taken for a secret in the texts of others.
const minDigits = 6

// Fields masks what is under a credential's name, at any depth, in a value as JSON has
// it. It gives a copy, calls found with each text that it hid (nil: nobody asks), and
// leaves alone what is no secret under any name: placeholders such as {prompt}, true,
// false, null.
func Fields(v any, found func(string)) any { return fields(v, false, found) }

func fields(v any, hidden bool, found func(string)) any {
	tell := func(text string) {
		if found != nil {
			found(text)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = fields(e, hidden || Name(k), found)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = fields(e, hidden, found)
		}
		return out
	case string:
		if hidden && v != "" && v != Mask && !placeholder(v) {
			tell(v)
			return Mask
		}
	case int64, float64, json.Number:
		if hidden {
			text := fmt.Sprint(v)
			if f, ok := v.(float64); ok {
				text = strconv.FormatFloat(f, 'f', -1, 64)
			}
			if len(text) >= minDigits {
				tell(text)
			}
			return Mask
		}
	}
	return v
}
