package object

import (
	"encoding/json"
	"slices"
	"sort"
	"testing"
	"unicode/utf8"
)

var samples = []string{
	`{}`, ` {}`, `{ }`, `{"a":1}`, "{\t\"a\" :\r\n 1 , \"b\":[ ] }", `{"a":1,"a":{"b":[{"c":"}]"}]}}`,
	`{"a\u0062":"x\\","b":"\"","":null,"\ud800":true}`, `{"a":"\\\\\"","b":-1.5e+3}`, `{"中":{"文":"\\"}}`, `{"a":[[[]],{}],"b":"{"}`,
}

// check compares with what encoding/json decodes.
func check(t *testing.T, raw []byte) {
	t.Helper()
	if !utf8.Valid(raw) || !json.Valid(raw) || raw[0] != '{' {
		return
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	o, ok := Of(raw)
	if !ok {
		t.Fatal("an object is none")
	}
	var names []string
	for name, value := range want {
		names = append(names, name)
		got, ok := o.Get(name)
		if !ok || string(got) != string(value) {
			t.Errorf("%s: %q is %s, want %s", raw, name, got, value)
		}
	}
	sort.Strings(names)
	if got := o.Names(); !slices.Equal(got, names) {
		t.Errorf("%s: names %q, want %q", raw, got, names)
	}
	if _, ok := o.Get("\x00 not there"); ok {
		t.Errorf("%s: a field that is not there", raw)
	}
}

func TestObject(t *testing.T) {
	for _, s := range samples {
		check(t, []byte(s))
	}
	if _, ok := Of(json.RawMessage(`[1]`)); ok {
		t.Error("an array is an object")
	}
	if _, ok := Object(nil).Get("a"); ok || Object(nil).Names() != nil {
		t.Error("the zero Object has a field")
	}
}

func FuzzObject(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 0 {
			check(t, raw)
			Object(raw).Names() // text that is no JSON must not hang or panic
			Object(raw).Get("a")
		}
	})
}
