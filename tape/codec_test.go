package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var sameMeaning = cmpopts.EquateEmpty()

// The append encoder means what encoding/json means, and writes one line.
func TestEncodeRequestLikeEncodingJSON(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		r := genRequest().Draw(t, "request")
		ours := appendRequest(nil, r)
		if bytes.ContainsAny(ours, "\n\r\u2028\u2029") || !utf8.Valid(ours) {
			t.Fatalf("not one line of UTF-8: %q", ours)
		}
		theirs, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := generic(tt, ours), generic(tt, theirs); !reflect.DeepEqual(a, b) {
			t.Fatalf("differs:\n%s\n%s", ours, theirs)
		}
	})
}

// A field that is added to the model must be added to the encoder: here every
// field has a value of its own.
func TestEncodeRequestKnowsEveryField(t *testing.T) {
	var r Request
	n := int64(1)
	fill(reflect.ValueOf(&r).Elem(), &n)
	r.Type = "request"
	theirs, err := json.Marshal(r)
	must(t, err)
	if d := cmp.Diff(generic(t, theirs), generic(t, appendRequest(nil, &r))); d != "" {
		t.Error(d)
	}
	got, err := decodeRequest(theirs)
	must(t, err)
	if d := cmp.Diff(&r, got); d != "" {
		t.Error(d)
	}
	c := cursor{b: theirs}
	if c.request(new(Request)); c.bad {
		t.Error("our own line is not read the quick way")
	}
}

func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), elem)
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n))
	default:
		v.SetInt(*n)
	}
}

func generic(t testing.TB, b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

// The quick decoder, on our own lines and on the same with other spacing, gives
// what encoding/json gives.
func TestDecodeRequestLikeEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := appendRequest(nil, genRequest().Draw(t, "request"))
		if rapid.Bool().Draw(t, "spaced") {
			var b bytes.Buffer
			if err := json.Indent(&b, line, "", " "); err != nil {
				t.Fatal(err)
			}
			line = bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(" "))
		}
		bothDecode(t, line)
	})
}

func bothDecode(t interface{ Fatalf(string, ...any) }, line []byte) {
	got, err := decodeRequest(line)
	var want Request
	if werr := json.Unmarshal(line, &want); (err == nil) != (werr == nil) {
		t.Fatalf("error %v, encoding/json %v: %s", err, werr, line)
	} else if err == nil {
		if d := cmp.Diff(&want, got, sameMeaning); d != "" {
			t.Fatalf("%s\n%s", d, line)
		}
	}
}

func TestDecodeOddLines(t *testing.T) {
	for _, ev := range []string{
		`null`, `{}`, ` { } `, `{"dt":null,"kind":null,"tok":null}`, `{"dt":[]}`, `{"dt":[ 1 , 2 ],"kind":"c2"}`,
		`{"dt":[-0,-5]}`, `{"dt":[9223372036854775807]}`, `{"dt":[9223372036854775808]}`, `{"dt":[1.0]}`, `{"dt":[1e3]}`,
		`{"dt":[01]}`, `{"dt":[1,]}`, `{"dt":[,1]}`, `{"dt":[-]}`, `{"dt":[1 2]}`, `{"dt":[1}`, `{"dt":"x"}`, `{"dt":[null]}`, `{"dt":[[1]]}`,
		`{"choice":[2147483648]}`, `{"choice":[1,2147483647]}`, `{"kind":"\u0063"}`, `{"kind":"é"}`, `{"kind":"a`, `{"DT":[1]}`,
		`{"dt":[1],"dt":[2]}`, `{"new":{"deep":["]","}"]},"dt":[1]}`, `{"dt":[1]"kind":"c"}`, `{"dt":[1],}`, `[]`, `7`, `"x"`, `{`, ``,
		`{"dt":[1]},"events":{"kind":"c"}`, `{"dt":[1]},"Events":{"kind":"c"}`, `{"dt":[1]},"\u0065vents":{"kind":"c"}`,
	} {
		bothDecode(t, []byte(`{"type":"request","seq":3,"events":`+ev+`,"turn":4}`))
	}
	for _, line := range []string{
		`{}`, ` {} `, `{} x`, `null`, `[]`, `{"seq":null,"t_end":null,"conn":null,"session":null,"ref":null,"flags":null,"output":null}`,
		`{"seq":1,"seq":null,"t_end":1,"t_end":null}`, `{"conn":{"id":1},"conn":{"reused":true}}`, `{"output":{"text":"a"},"output":{"sha256":"b"}}`,
		`{"flags":["a","b"],"flags":["c"]}`, `{"attempt_log":[{"status":1}],"attempt_log":[{"outcome":"ok"}]}`, `{"SEQ":4}`, `{"\u0073eq":4}`,
		`{"seq":1.5}`, `{"seq":"1"}`, `{"seq":tru}`, `{"conn":{"reused":truex}}`, `{"seq":nullx}`, `{"new_1":{"a":[1,{"b":"]"}]},"seq":2}`,
		`{"new":[1,},"seq":2}`, `{"new":,"seq":2}`, `{"seq":2,}`, `{"seq" : 2 , "turn" : 3 }`, `{"message":"\ud83d"}`, "{\"message\":\"\xff\"}",
		"{\"message\":\"a\tb\"}", `{"message":"a`, `{"message":"a\`, `{"seq":`, `{"worker":12345678901}`, `{"ſeq":3}`, `{"http":{"STATUS":3}}`,
	} {
		bothDecode(t, []byte(line))
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"type":"request","events":{"dt":[1,2],"kind":"c2","tok":[1,-1],"choice":[0,1]},"x":"}]"}`))
	f.Add([]byte(`{"a":[{"b":"\""}],"events":{"dt":[ 1 ]},"t_due":null}`))
	f.Add(appendRequest(nil, stream(3, 5)))
	f.Fuzz(func(t *testing.T, line []byte) { bothDecode(t, line) })
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct{ code, kinds string }{
		{"", ""}, {"r c3 f u d", "rcccfud"}, {"c", "c"}, {"c12", strings.Repeat("c", 12)},
		{"c0 r", "r"}, {"3 c", "c"}, {" c2  f", "ccf"}, {"z2", "zz"}, {"cf", "cf"},
	} {
		e := Events{DT: make([]int64, len(tt.kinds)), Kind: tt.code}
		var got []byte
		for i, k := range e.Kinds() {
			if i != len(got) {
				t.Fatalf("%q: index %d after %d", tt.code, i, len(got))
			}
			got = append(got, k)
		}
		if string(got) != tt.kinds || countKinds(tt.code) != len(tt.kinds) {
			t.Errorf("%q gives %q (%d), want %q", tt.code, got, countKinds(tt.code), tt.kinds)
		}
	}
	// A code that claims more than there is stays within the entries.
	e := Events{DT: make([]int64, 3), Kind: "c99999999999999999999999 f"}
	n := 0
	for range e.Kinds() {
		n++
	}
	if n != 3 || countKinds(e.Kind) < 1<<40 {
		t.Errorf("%d entries, count %d", n, countKinds(e.Kind))
	}
}

func TestKindsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOf(rapid.SampledFrom([]byte("rcstxhfuedo"))).Draw(t, "kinds")
		e := Events{DT: make([]int64, len(kinds)), Kind: EncodeKinds(kinds)}
		var got []byte
		for _, k := range e.Kinds() {
			got = append(got, k)
		}
		if !slices.Equal(got, kinds) {
			t.Fatalf("%q → %q → %q", kinds, e.Kind, got)
		}
	})
}

func TestAll(t *testing.T) {
	e := Events{DT: []int64{5, 0, 7}, Kind: "r c", Tok: []int64{-1, 1, 2}, Choice: []int32{0, 0, 1}}
	var got []Event
	for _, ev := range e.All(100) {
		got = append(got, ev)
	}
	want := []Event{{105, 'r', -1, 0}, {105, 'c', 1, 0}, {112, KindOther, 2, 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i := range e.All(0) {
		if i == 1 {
			break // stopping early must not panic
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*Request)
		want  string // "" lawful
	}{
		{"lawful", func(*Request) {}, ""},
		{"due after released", func(r *Request) { r.TDue = Some(int64(1) << 60) }, ""},
		{"headers with the first event's read, a little later", func(r *Request) { r.THeaders.V += 500 }, ""},
		{"no outcome", func(r *Request) { r.Outcome = "" }, "outcome"},
		{"released before ready", func(r *Request) { r.TReleased = Some(r.TReady.V - 1) }, "t_released"},
		{"written before released", func(r *Request) { r.TConn = Opt[int64]{}; r.TWroteFirst.V = r.TReleased.V - 1 }, "t_wrote_first"},
		{"absent stamps are passed over", func(r *Request) { r.TReady, r.TConn, r.TWrote = Opt[int64]{}, Opt[int64]{}, Opt[int64]{} }, ""},
		{"end before the last token", func(r *Request) { r.TEnd = Some(r.TLastToken.V - 1) }, "t_end"},
		{"first without last", func(r *Request) { r.TLastToken = Opt[int64]{} }, "without"},
		{"a kind too few", func(r *Request) { r.Events.Kind = "r c3 f u" }, "7 entries"},
		{"tok too short", func(r *Request) { r.Events.Tok = r.Events.Tok[1:] }, "of tok"},
		{"choice too short", func(r *Request) { r.Events.Choice = []int32{1} }, "of choice"},
		{"negative gap", func(r *Request) { r.Events.DT[2] = -1 }, "dt[2]"},
		{"first event elsewhere", func(r *Request) { r.TFirstEvent.V-- }, "t_first_event"},
		{"first token elsewhere", func(r *Request) { r.TFirstToken.V++; r.TFirstVisible.V++ }, "the events say"},
		{"last token not on the tape", func(r *Request) {
			r.TFirstToken, r.TFirstVisible, r.TLastToken = Opt[int64]{}, Opt[int64]{}, Opt[int64]{}
		}, "the events say"},
		{"events without a beginning", func(r *Request) { r.TWroteFirst, r.TReleased = Opt[int64]{}, Opt[int64]{} }, "t_wrote_first"},
		{"events from another beginning", func(r *Request) { r.TWroteFirst = Opt[int64]{} }, "but the first event is at"},
		{"more attempts logged than made", func(r *Request) { r.AttemptLog = make([]Attempt, 1) }, "attempts"},
		{"negative wait", func(r *Request) { r.Attempts, r.AttemptLog = 2, []Attempt{{Wait: -1}} }, "wait_ns"},
		{"negative Retry-After", func(r *Request) { r.RetryAfter = Some(int64(-1)) }, "retry_after_ns"},
		{"negative count", func(r *Request) { r.Tokens.Cached = Some(int64(-1)) }, "tokens.cached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := stream(9, 3)
			tt.spoil(r)
			err := r.Check()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// So it is with scrapes.
func TestEncodeScrapeLikeEncodingJSON(tt *testing.T) {
	var s Scrape
	n := int64(1)
	fill(reflect.ValueOf(&s).Elem(), &n)
	s.Type = "scrape"
	theirs, err := json.Marshal(s)
	must(tt, err)
	if d := cmp.Diff(string(theirs), string(appendScrape(nil, &s))); d != "" {
		tt.Error(d)
	}
	rapid.Check(tt, func(t *rapid.T) {
		s := Scrape{
			Type: "scrape", T: genInt().Draw(t, "t"), Source: genText().Draw(t, "source"), Error: genText().Draw(t, "error"), Left: genInt().Draw(t, "left"),
			Series: rapid.MapOfN(rapid.String(), rapid.Float64(), 0, 4).Draw(t, "series"), Same: genOpt(genInt()).Draw(t, "same"),
			Gone: rapid.SliceOfN(genText(), 0, 3).Draw(t, "gone"), Types: rapid.MapOfN(rapid.String(), genText(), 0, 3).Draw(t, "types"),
		}
		for name, v := range s.Series {
			if v-v != 0 {
				delete(s.Series, name)
			}
		}
		ours := appendScrape(nil, &s)
		if bytes.ContainsAny(ours, "\n\r\u2028\u2029") || !utf8.Valid(ours) {
			t.Fatalf("not one line of UTF-8: %q", ours)
		}
		theirs, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := generic(tt, ours), generic(tt, theirs); !reflect.DeepEqual(a, b) {
			t.Fatalf("differs:\n%s\n%s", ours, theirs)
		}
	})
}
