package secret

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const key = `sk-a"b/c+d&e<f\g%41h=QRSTUVWXYZ`

func TestMask(t *testing.T) {
	for _, c := range []struct{ name, secret, in, want string }{
		{"as it stands", key, "the key " + key + " is wrong", "the key *** is wrong"},
		{"JSON", key, `{"m":"sk-a\"b\/c\u002bd\u0026e\u003Cf\\g%41h=QRSTUVWXYZ"}`, `{"m":"***"}`},
		{"HTML", key, `<b>sk-a&quot;b/c&#43;d&amp;e&lt;f\g%41h&#x3d;QRSTUVWXYZ</b>`, `<b>***</b>`},
		{"HTML without semicolons", key, `<b>sk-a&quotb/c&#43d&ampe&ltf\g%41h=QRSTUVWXYZ</b>`, `<b>***</b>`},
		{"URL", key, `/?k=sk-a%22b%2Fc%2bd%26e%3Cf%5Cg%2541h%3DQRSTUVWXYZ&x`, `/?k=***&x`},
		{"Go", "sk-a\u00e9b+c", `"sk-a\xc3\xa9b\x2bc"`, `"***"`},
		{"HTML in JSON", key, `"sk-a\u0026quot;b/c+d\u0026amp;e&lt;f\\g%41h=QRSTUVWXYZ"`, `"***"`},
		{"JSON in JSON", "ab+cdef", `"{\"m\":\"ab\\u002bcdef\"}"`, `"{\"m\":\"***\"}"`},
		{"folded", key, "x sk-a\"b/c\r\n +d&e<f\\g%41h\x00=QR\u200bSTUVWXYZ y", "x *** y"},
		{"first part", key, "x sk-a\"b/c+d&e<f y", "x *** y"},
		{"last part", key, "x …h=QRSTUVWXYZ y", "x …*** y"},
		{"parts too short", key, "x =QRSTUVWXYZ sk-a\"b/c+d", "x =QRSTUVWXYZ sk-a\"b/c+d"},
		{"short", "abcd", "abcd a bcd ab\ncd abcdef", "*** a bcd ab\ncd ***ef"},
		{"short with a space", "ab cd", "ab cd abcd", "*** ***"},
		{"too short", "abc", "abc", "abc"},
		{"twice", "abcd", "abcdabcd.abcd", "***.***"},
		{"a surrogate pair", "key\U0001F600key", `key\ud83d\ude00key`, "***"},
		{"what looks like an escape", `n%41%42%43%44`, `\n%41%42%43%44`, `\***`},
		{"nothing", key, "50% of \\n & more &bogus; \\u12 %zz", "50% of \\n & more &bogus; \\u12 %zz"},
		{"empty", key, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := New([]string{c.secret}).Mask(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := New([]string{"Bearer abcdefgh", "abcdefgh"}).Mask("Bearer abcdefgh abcdefgh"); got != "*** ***" {
		t.Errorf("%q", got)
	}
	if got := New(nil).Mask(key); got != key {
		t.Errorf("%q", got)
	}
}

// A secret that a limit cuts is masked before, and one that came cut as well.
func TestCut(t *testing.T) {
	s := New([]string{key, "password"})
	for in, want := range map[string]string{
		"the key sk-a":               "the key ***",
		"the key sk-":                "the key sk-",
		"the key sk-a\\\"b\\/c\\u00": "the key ***",
		"the key sk-a&quo":           "the key ***",
		"the key sk-a%22b%":          "the key ***",
		"the key sk-a\"b/c…\"":       "the key ***",
		"the key passwor":            "the key ***",
		"the pass is good":           "the pass is good",
	} {
		if got := s.Cut(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for n := range 200 {
		got := s.Line(strings.Repeat("x", n)+" "+key+" tail", 200)
		if strings.Contains(got, "sk-a") || strings.Contains(got, "WXYZ") || len(got) > 200 {
			t.Fatalf("%d: %q", n, got)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"m\x1b[2J\r\nb\x00\x7f\u009b c ": "m [2J b c",
		"a\u202eb\u2028c":                "a b c",
		"\xff":                           "\uFFFD",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// encodings are the ways in which a server may spell a character.
var encodings = map[string]func(r rune) string{
	"json": func(r rune) string {
		if strings.ContainsRune(`"\/`, r) {
			return `\` + string(r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	},
	"JSON": func(r rune) string { return fmt.Sprintf(`\u%04X`, r) },
	"html": func(r rune) string {
		if s := html.EscapeString(string(r)); s != string(r) {
			return s
		}
		return fmt.Sprintf("&#%d;", r)
	},
	"hex": func(r rune) string { return fmt.Sprintf("&#x%X;", r) },
	"url": func(r rune) string { return fmt.Sprintf("%%%02X", r) },
	"URL": func(r rune) string { return fmt.Sprintf("%%%02x", r) },
}

// spell writes s in an encoding: always what the encoding itself uses, others at
// will.
func spell(t *rapid.T, s, encoding string, all bool) string {
	special := map[string]string{"json": `"\`, "JSON": `"\`, "html": "&<>\"'", "hex": "&<>\"'", "url": "%", "URL": "%"}[encoding]
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(special, r) || all || rapid.IntRange(0, 3).Draw(t, "escape") == 0 {
			b.WriteString(encodings[encoding](r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var (
	jsonEscape = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\["\\/]`)
	urlEscape  = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
	readers    = []func(string) string{
		func(s string) string {
			return jsonEscape.ReplaceAllStringFunc(s, func(e string) string {
				if e[1] != 'u' {
					return e[1:]
				}
				v, _ := strconv.ParseUint(e[2:], 16, 16)
				return string(rune(v))
			})
		},
		html.UnescapeString,
		func(s string) string {
			return urlEscape.ReplaceAllStringFunc(s, func(e string) string {
				v, _ := strconv.ParseUint(e[1:], 16, 8)
				return string([]byte{byte(v)})
			})
		},
	}
)

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// shows is a run of 12 characters of the secret that a text gives away to whoever
// takes up to depth escapes off it.
func shows(text, secret string, depth int) string {
	for i := 0; i+partLen <= len(secret); i++ {
		if part := secret[i : i+partLen]; strings.Contains(squeeze(text), part) {
			return part
		}
	}
	if depth > 0 {
		for _, read := range readers {
			if part := shows(read(text), secret, depth-1); part != "" {
				return part
			}
		}
	}
	return ""
}

func TestNothingShows(t *testing.T) {
	names := []string{"json", "JSON", "html", "hex", "url", "URL"}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[!-)+-~]{16,60}`).Draw(t, "secret")
		noise := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\\%&u0-9a-f;#" ]{0,20}`))
		spelt := secret
		for range rapid.IntRange(0, 2).Draw(t, "levels") {
			spelt = spell(t, spelt, rapid.SampledFrom(names).Draw(t, "encoding"), rapid.Bool().Draw(t, "all"))
		}
		if rapid.Bool().Draw(t, "spaced") {
			at := rapid.IntRange(0, len(spelt)).Draw(t, "at")
			spelt = spelt[:at] + rapid.SampledFrom([]string{" ", "\r\n ", "\x00", "\u00a0"}).Draw(t, "space") + spelt[at:]
		}
		from := rapid.IntRange(0, len(spelt)/2).Draw(t, "from")
		if rapid.Bool().Draw(t, "whole") {
			from = 0
		}
		before := noise.Draw(t, "before")
		text := before + spelt[from:] + noise.Draw(t, "after")
		s := New([]string{secret})
		got := s.Mask(text)
		if part := shows(got, secret, 2); part != "" {
			t.Fatalf("%q of %q shows in %q, made of %q", part, secret, got, text)
		}
		limit := rapid.IntRange(10, 100).Draw(t, "limit")
		line := s.Line(text, limit)
		if part := shows(line, secret, 2); part != "" || len(line) > limit || !utf8.ValidString(line) {
			t.Fatalf("%q of %q shows in the line %q", part, secret, line)
		}
	})
}

// A short secret, and one that a text does not hold, leave the rest as it was.
func TestTheRestStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.StringMatching(`[a-z\\%& ]{0,30}`).Draw(t, "before"), rapid.StringMatching(`[a-z ]{0,30}`).Draw(t, "after")
		s := New([]string{"KEY-1234", "A much LONGER-SECRET of 30"})
		if got := s.Mask(before + "|KEY-1234|" + after); got != before+"|***|"+after {
			t.Fatalf("%q", got)
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add(key, `{"m":"sk-a\"b\/c\u002bd`)
	f.Add("%41%42%43%44%45%46", "%2541&#x41;&#4&amp")
	f.Add(`\ud83d\u`, `\ud83d\u0`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		s := New([]string{secret})
		got := s.Mask(text)
		if len(secret) >= minLen && len(squeeze(secret)) == len(secret) && !strings.Contains(secret, "*") && strings.Contains(got, secret) {
			t.Errorf("%q shows in %q", secret, got)
		}
		if !strings.Contains(text, Mask) && !strings.Contains(got, Mask) && got != text {
			t.Errorf("%q became %q without a mask", text, got)
		}
		s.Line(text, 50)
	})
}

func BenchmarkMask(b *testing.B) {
	s := New([]string{key, "password"})
	for _, c := range []struct{ name, text string }{
		{"prose", strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2000)},
		{"escapes", strings.Repeat(`\u0041%41&amp;\\\"`, 5000)},
		{"near misses", strings.Repeat(key[:partLen-1], 8000)},
		{"one byte", strings.Repeat("&", 90000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				s.Cut(c.text)
			}
		})
	}
}
