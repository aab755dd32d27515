package dialect

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"
)

// depth is the nesting of valid JSON.
func depth(b []byte) (most int) {
	n, text, escaped := 0, false, false
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case text && c == '\\':
			escaped = true
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			n++
			most = max(most, n)
		case c == '}' || c == ']':
			n--
		}
	}
	return most
}

var jsonSeeds = []string{
	`{"a":[1,-0.5e+3,true,false,null,"\u00e9\n"]}`, "01", "NaN", "-", "1.", "1e", `"\ud800"`, "\"\xff\"", `{"a" : 1 , }`, " [ ] ", "{}x", "\"\x01\"", "nul", "\u00a01",
	`{"a":1,"a":2,"\u0061":{"b":[{"c":"\ud83d\ude00\ud83d"},[]]},"":""}`, `{ "k" :"\\" , "l": [ [ ] , { } , "]" , 12.5e3 ] }`, `{"abcdefgh":"12345678","x":"1234567\""}`,
}

func FuzzValid(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := json.Valid(b) && utf8.Valid(b) && depth(b) < maxDepth
		if got := valid(b); got != want {
			t.Fatalf("valid(%q) = %v, want %v", b, got, want)
		}
	})
}

// FuzzObject reads objects in place and by encoding/json.
func FuzzObject(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		members, ok := object(nil, b)
		if want := valid(b) && b[0] == '{' && b[len(b)-1] == '}'; ok != want && len(members) < maxMembers {
			t.Fatalf("object(%q) = %v, want %v", b, ok, want)
		}
		if !ok {
			return
		}
		var theirs map[string]any
		if err := json.Unmarshal(b, &theirs); err != nil {
			return // a number beyond float64
		}
		seen := map[string]bool{}
		for _, m := range members {
			seen[string(m.key)] = true
		}
		if len(seen) != len(theirs) {
			t.Fatalf("%q: keys %v", b, seen)
		}
		for key, want := range theirs {
			same(t, b, value(b).get(key), want)
		}
	})
}

// same compares a value with what encoding/json made of it.
func same(t *testing.T, b []byte, v value, want any) {
	switch want := want.(type) {
	case nil:
		if string(v) != "null" || !v.null() || v.word() != nil || v.count() != Unknown {
			t.Fatalf("%q: %q is null", b, v)
		}
	case bool:
		if v.null() == want || string(v) != map[bool]string{true: "true", false: "false"}[want] {
			t.Fatalf("%q: %q is %v", b, v, want)
		}
	case float64:
		count := Unknown
		if want == math.Trunc(want) && want >= 0 && v[0] != '-' {
			// of the digits themselves, but where they may be millions
			if exact, ok := new(big.Rat).SetString(string(v)); want == 0 && strings.ContainsAny(string(v), "eE") || ok && exact.IsInt() {
				count = int64(min(want, maxCount))
			}
		}
		if want == 0 && v.count() == Unknown {
			count = Unknown // 1e-400
		}
		if v.number() != want || v.count() != count {
			t.Fatalf("%q: %q is %v, read %v, counted %d", b, v, want, v.number(), v.count())
		}
	case string:
		var buf []byte
		if string(v.text(&buf)) != want || string(v.word()) != want {
			t.Fatalf("%q: %q is %q, read %q", b, v, want, v.word())
		}
	case []any:
		if v.size() != int64(len(want)) || v.at(len(want)) != nil {
			t.Fatalf("%q: %q has %d elements", b, v, len(want))
		}
		i := 0
		for e := v.elements(); e.next(); i++ {
			if i%2 == 0 { // both ways to go on must find the next one
				m := e.members()
				for m.next() {
				}
				if m.b != nil {
					e.past(&m)
				}
			}
		}
		if i != len(want) {
			t.Fatalf("%q: %d elements of %q", b, i, v)
		}
		for i, e := range want {
			same(t, b, v.at(i), e)
		}
	case map[string]any:
		for key, e := range want {
			same(t, b, v.get(key), e)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a", "a.b[0].c", "[0].a", "a[", "a..b", "", "a[999999999]", "a[-1]", "a b", ".a", "a[0]b"} {
		f.Add(s, `{"a":{"b":[{"c":1}]},"":[]}`)
	}
	f.Fuzz(func(t *testing.T, s, payload string) {
		p, err := parsePath("x", s)
		if (err != nil) == (len(p) > 0) && s != "" {
			t.Fatalf("%q: %v, %v", s, p, err)
		}
		if valid([]byte(payload)) {
			if v := p.in(value(strings.TrimSpace(payload))); v != nil && !valid(v) {
				t.Fatalf("%s in %s is %q", s, payload, v)
			}
		}
	})
}

func TestPath(t *testing.T) {
	v := value(`{"a":{"b":[{"c":"x"},{"c":"y"}]},"d":[[1,2]],"e.f":3}`)
	for path, want := range map[string]string{
		"a.b[1].c": `"y"`, "a.b[0]": `{"c":"x"}`, "d[0][1]": "2", "a.b[2].c": "", "a.c": "", "a[0]": "", "d.x": "", "a.b.c": "", "": "",
	} {
		p, err := parsePath("text", path)
		if err != nil || string(p.in(v)) != want {
			t.Errorf("%q: %v, %q", path, err, p.in(v))
		}
	}
	for _, bad := range []string{"a.", ".a", "a[x]", "a[0", "a]", "a[0]b", "a b", "a..b", "[]", "a[1234567890]"} {
		if _, err := parsePath("target.custom.text", bad); err == nil || !strings.Contains(err.Error(), "target.custom.text") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "5": 5, "5.0": 5, "5.00e0": 5, "5e2": 500, "1.25e2": 125, "1250e-1": 125, "0e-7": 0, "9007199254740992": 1 << 53, "4503599627370497.0": 4503599627370497,
		"2.5": Unknown, "4503599627370497.5": Unknown, "125e-1": Unknown, "1.25e1": Unknown, "1e-400": Unknown, "1e99": maxCount, "9007199254740994": maxCount, "4611686018427387909": maxCount, "1e308": maxCount, "1e400": Unknown,
		"-1": Unknown, "1e99999999999999999999": Unknown, "0.00000000000000000000001": Unknown, "null": Unknown, `"5"`: Unknown,
	} {
		if got := value(text).count(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
