package tape

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var modes = []struct {
	name     string
	compress bool
}{{"plain", false}, {"zstd", true}}

// write makes a tape of n requests, flushed after each, with a footer when asked.
func write(t testing.TB, compress bool, n int, footer bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, compress)
	must(t, w.Write(&Header{Run: "01J", Spec: json.RawMessage(`{"name":"x"}`)}))
	must(t, w.Flush())
	for i := range n {
		must(t, w.Write(stream(int64(i), 20)))
		must(t, w.Flush())
	}
	if footer {
		must(t, w.Write(&Footer{Reason: ReasonCompleted, Planned: int64(n), OK: int64(n), Failed: map[string]int64{}}))
	}
	must(t, w.Close())
	return b.Bytes()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readAll gives the records, the faults apart, and the final error.
func readAll(b []byte) (recs []Record, faults []*Fault, sum string, err error) {
	r := NewReader(bytes.NewReader(b))
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return recs, faults, r.SHA256(), nil
		}
		if err != nil {
			return recs, faults, r.SHA256(), err
		}
		if f, ok := rec.(*Fault); ok {
			faults = append(faults, f)
		} else {
			recs = append(recs, rec)
		}
	}
}

func lines(t testing.TB, s ...string) []byte {
	t.Helper()
	head := write(t, false, 0, false)
	return append(head, strings.Join(s, "\n")+"\n"...)
}

func TestRoundTrip(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			want := []Record{
				&Header{Type: "header", Schema: Schema, Run: "01J", Spec: json.RawMessage(`{"a":1}`), Notes: []string{"n"}},
				&Capabilities{Type: "capabilities", Usage: "end", TokensPerEvent: Some(1.5), RoleFirst: Some(false)},
				stream(0, 3), stream(1, 4096),
				&ClientSample{Type: "client", T: 5, CPU: 0.25, HostBusy: Some(0.0)},
				&ClientSample{Type: "client", T: 6, Wait: &ClientWait{Reads: [][2]int64{{40, 3}, {51, 1}}, Max: 20_000}, RunDelay: Some(int64(0))},
				&Scrape{Type: "scrape", T: 6, Source: "p0", OK: true, Series: map[string]float64{`q{a="b"}`: 4, "z": math.MaxFloat64}},
				&Scrape{Type: "scrape", T: 7, Source: "p0", OK: true, Nr: 2, Same: Some(int64(0)), Gone: []string{"z"}, Types: map[string]string{"q": "gauge"},
					Role: "prefill", Kind: "sglang", Left: 3, NotFinite: 1, Repeated: 2, Missed: 4, Took: Some(int64(5)), Parse: Some(int64(0)), Bytes: Some(int64(9))},
				&Scrape{Type: "scrape", T: 8, Source: "p0", Cause: ScrapeAuth, Error: "status 401", Status: 401},
				&Call{Type: "call", What: CallFlush, Phase: PhasePrepare, Method: "POST", URL: "http://h/flush", T: -3, TEnd: 4, Status: Some(int64(200)), OK: true},
				&ServerFacts{Type: "server", When: FactsBefore, T: -9, URL: "http://h", OK: true, Engine: "sglang", Version: "0.5", Models: []string{"m"},
					Facts: map[string]string{"/version version": "0.5"}, Moving: []string{"/props uptime"}, Left: 2, Failed: map[string]string{"/info": "status 500"}},
				&Step{Type: "step", Name: "tls", T: Some(int64(-7)), Took: Some(int64(0)), Result: StepFailed, Seen: "s", Do: "d", URL: "http://h/", Status: Some(int64(400)), Headers: []string{"Server: x"}, Request: Some(ProbeSeq)},
				&Capabilities{Type: "capabilities", UsageWhole: Some(false), RoleChunk: RoleWith, Honoured: map[string]bool{"ignore_eos": false}, Finish: []string{"length"},
					CachedFields: []string{"usage.x"}, Speculation: []string{"y"}, ChatOverhead: Some(int64(0)), Context: Some(int64(1)), Entry: EntryUnified, Model: "m",
					How: map[string]string{"entry": "GET /server_info"}, Inferred: []string{"chat_overhead"}, By: []string{"probe-0"}, URL: Some(int64(1))},
				&Footer{Type: "footer", Reason: ReasonCompleted, Warmup: Some(int64(0)), Planned: 2, OK: 2, Failed: map[string]int64{"reset": 0}},
			}
			path := filepath.Join(t.TempDir(), "tape") // no .zst: the content decides
			w, err := Create(path, m.compress)
			must(t, err)
			for _, rec := range want {
				must(t, w.Write(rec))
			}
			must(t, w.Close())
			must(t, w.Close())

			r, err := OpenFile(path)
			must(t, err)
			defer r.Close()
			for _, rec := range want {
				got, err := r.Next()
				must(t, err)
				if f, ok := rec.(*Footer); ok {
					f.SHA256 = got.(*Footer).SHA256 // checked by the reader: a wrong one is a fault
				}
				if d := cmp.Diff(rec, got, sameMeaning); d != "" {
					t.Fatal(d)
				}
			}
			if rec, err := r.Next(); err != io.EOF {
				t.Fatalf("after the footer: %v, %v", rec, err)
			}
			raw, err := os.ReadFile(path)
			must(t, err)
			if !m.compress {
				if h := sha256.Sum256(raw); r.SHA256() != hex.EncodeToString(h[:]) {
					t.Error("SHA256 is not that of the file's lines")
				}
			}
			if _, err := Create(path, m.compress); !errors.Is(err, fs.ErrExist) {
				t.Errorf("overwrote an existing tape: %v", err)
			}
		})
	}
}

// Both framings of the same lines have the same hash.
func TestHashIsOfTheLines(t *testing.T) {
	_, _, a, err := readAll(write(t, false, 3, true))
	must(t, err)
	_, _, b, err := readAll(write(t, true, 3, true))
	must(t, err)
	if a != b {
		t.Errorf("%s and %s", a, b)
	}
}

// Odd text (D08) comes back as the same text, on one line.
func TestOddTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genText().Draw(t, "text")
		var b bytes.Buffer
		w := NewWriter(&b, rapid.Bool().Draw(t, "zstd"))
		for _, rec := range []any{
			&Header{Name: text, Spec: json.RawMessage("{\"a\":\"\xff\",\n\"b\":\"\u2028\"}")},
			&Request{Phase: "measure", Outcome: "ok", Output: &Output{Text: text}},
			&Scrape{Error: text, Series: map[string]float64{text: 1}},
		} {
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		recs, faults, _, err := readAll(b.Bytes())
		if err != nil || len(faults) > 0 || len(recs) != 3 {
			t.Fatalf("%d records, %v, %v", len(recs), faults, err)
		}
		want := string([]rune(text)) // each bad byte one U+FFFD
		got := recs[2].(*Scrape)
		if recs[0].(*Header).Name != want || recs[1].(*Request).Output.Text != want || got.Error != want || got.Series[want] != 1 {
			t.Fatalf("%q came back as %q", text, recs[1].(*Request).Output.Text)
		}
	})
}

func TestMegabyteOfText(t *testing.T) {
	text := strings.Repeat("\x00\x01\ud7ff</script>\u2029", 1<<16)
	for _, m := range modes {
		var b bytes.Buffer
		w := NewWriter(&b, m.compress)
		must(t, w.Write(&Header{}))
		must(t, w.Write(&Request{Phase: "measure", Outcome: "ok", Output: &Output{Text: text}}))
		must(t, w.Close())
		recs, faults, _, err := readAll(b.Bytes())
		if err != nil || len(faults) > 0 || recs[1].(*Request).Output.Text != text {
			t.Errorf("%s: %v %v", m.name, faults, err)
		}
	}
}

// D05: a tape cut at any byte gives every whole line before the cut, and says
// that it is torn unless the cut is between two lines.
func TestTornAnywhere(t *testing.T) {
	const n = 3
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			whole := write(t, m.compress, n, false)
			// Places where everything before was flushed.
			var ends []int
			for i := range n + 1 {
				ends = append(ends, len(write(t, m.compress, i, false)))
			}
			for cut := len(whole) - 1; cut >= 0; cut-- {
				recs, faults, _, err := readAll(whole[:cut])
				if cut < ends[0] {
					if err == nil && len(recs) == 0 {
						t.Fatalf("cut at %d: no header and no error", cut)
					}
					continue
				}
				must(t, err)
				least, between := 0, false
				for _, e := range ends {
					if e <= cut {
						least++
					}
					between = between || e == cut
				}
				// A line whose end alone is torn off is whole.
				if len(recs) < least || len(recs) > least+1 {
					t.Fatalf("cut at %d: %d records, flushed were %d", cut, len(recs), least)
				}
				if between != (len(faults) == 0) && len(recs) == least {
					t.Fatalf("cut at %d: faults %v", cut, faults)
				}
				for _, f := range faults {
					if !f.Lost || !strings.Contains(f.Why, "torn") || f.Line < int64(least) {
						t.Fatalf("cut at %d: %+v", cut, f)
					}
				}
			}
		})
	}
}

// A damaged frame in the middle costs its own lines, not those after it.
func TestDamagedFrame(t *testing.T) {
	whole := write(t, true, 6, true)
	_, _, sum, err := readAll(whole)
	must(t, err)
	from, to := len(write(t, true, 2, false)), len(write(t, true, 3, false))
	for at := from; at < to; at++ {
		b := bytes.Clone(whole)
		b[at] ^= 0x5a
		recs, faults, got, err := readAll(b)
		must(t, err)
		seen := map[int64]bool{}
		for _, rec := range recs {
			if r, ok := rec.(*Request); ok {
				seen[r.Seq] = true
			}
		}
		for _, seq := range []int64{0, 1, 3, 4, 5} {
			if !seen[seq] {
				t.Fatalf("byte %d damaged: request %d lost, faults %v", at-from, seq, faults)
			}
		}
		if len(faults) == 0 && got != sum { // a bit without meaning may change
			t.Fatalf("byte %d damaged: nothing said", at-from)
		}
	}
}

func TestUnreadableLines(t *testing.T) {
	ok := `{"type":"request","seq":1,"phase":"measure","outcome":"ok","bytes":{},"attempts":1}`
	for _, tt := range []struct {
		name, line string
		lost       bool
		why        string // "" no fault
	}{
		{"unknown field", `{"type":"request","seq":1,"phase":"measure","outcome":"ok","attempts":1,"new":{"a":[1]},"events":{"dt":[],"src":[0.5]}}`, false, ""},
		{"unknown type", `{"type":"gpu","t":1}`, false, ""},
		{"unknown type, not JSON", `{"type":"gpu","t":}`, true, "cannot be read"},
		{"blank", ``, false, ""},
		{"CRLF", ok + "\r", false, ""},
		{"spaces", `{ "seq" : 1, "type" : "request", "phase":"measure","outcome":"ok" }`, false, ""},
		{"half a line", ok[:40], true, `"{\"type\":\"request\"`},
		{"wrong type", `{"type":"request","seq":"x"}`, true, "seq"},
		{"no type", `{"seq":1}`, true, "no type"},
		{"not an object", `[1]`, true, "cannot be read"},
		{"text", `hello`, true, `"hello"`},
		{"a sample that lies", `{"type":"client","t":"x"}`, true, "cannot be read"},
		{"second header", `{"type":"header","schema":"tokentape.tape/1"}`, true, "second header"},
		{"breaks a rule", `{"type":"request","seq":7,"phase":"measure","outcome":"ok","t_released":5,"t_end":4}`, false, "request 7 breaks a rule"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := lines(t, tt.line, ok)
			recs, faults, _, err := readAll(b)
			must(t, err)
			last, isReq := recs[len(recs)-1].(*Request)
			if !isReq || last.Seq != 1 {
				t.Fatalf("reading did not go on: %v", recs)
			}
			if tt.why == "" {
				if len(faults) > 0 {
					t.Fatalf("%v", faults[0])
				}
				return
			}
			if len(faults) != 1 {
				t.Fatalf("faults %v", faults)
			}
			f := faults[0]
			wantBytes := 0
			if tt.lost {
				wantBytes = len(tt.line) + 1
			}
			head := int64(len(write(t, false, 0, false)))
			if f.Line != 2 || f.Offset != head || f.Bytes != wantBytes || f.Lost != tt.lost || !strings.Contains(f.Why, tt.why) {
				t.Errorf("%+v, want why %q", f, tt.why)
			}
		})
	}
}

func TestNoLineEndAtTheEnd(t *testing.T) {
	b := write(t, false, 2, true)
	recs, faults, _, err := readAll(bytes.TrimSuffix(b, []byte("\n")))
	if err != nil || len(faults) > 0 || len(recs) != 4 {
		t.Errorf("%d records, %v, %v", len(recs), faults, err)
	}
}

func TestCRLFTapeIsNotEdited(t *testing.T) {
	b := bytes.ReplaceAll(write(t, false, 2, true), []byte("\n"), []byte("\r\n"))
	if _, faults, _, err := readAll(b); err != nil || len(faults) > 0 {
		t.Errorf("%v %v", faults, err)
	}
}

func TestFooter(t *testing.T) {
	good := write(t, false, 2, true)
	for _, tt := range []struct {
		name string
		tape []byte
		why  string
	}{
		{"a digit changed", bytes.Replace(good, []byte(`"sent":70213`), []byte(`"sent":70214`), 1), "edited"},
		{"a line taken away", append(bytes.Clone(good[:bytes.IndexByte(good, '\n')+1]), good[bytes.LastIndex(good, []byte(`{"type":"request"`)):]...), "edited"},
		{"no sum", bytes.Replace(good, []byte(`"sha256":"`+footerSum(t, good)+`"`), []byte(`"sha256":""`), 1), "no sha256"},
		{"lines after it", append(bytes.Clone(good), good[bytes.IndexByte(good, '\n')+1:]...), "after the footer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, faults, _, err := readAll(tt.tape)
			must(t, err)
			if len(faults) != 1 || !strings.Contains(faults[0].Why, tt.why) {
				t.Errorf("faults %v, want one with %q", faults, tt.why)
			}
		})
	}
}

func footerSum(t testing.TB, b []byte) string {
	recs, _, _, err := readAll(b)
	must(t, err)
	return recs[len(recs)-1].(*Footer).SHA256
}

func TestNotATape(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", []string{"header"}},
		{"HTML", "<html>" + strings.Repeat("x", 500), []string{"not a tape", `"<html>xxx`, "…"}},
		{"a results file", `{"schema":"tokentape.results/1","run":"x"}`, []string{"not a tape", "tokentape.results/1"}},
		{"request first", `{"type":"request","seq":1}` + "\n", []string{"not a tape"}},
		{"torn header", `{"type":"header","schema":"tokentape.tape/1","ru`, []string{"not a tape"}},
		{"newer major", `{"type":"header","schema":"tokentape.tape/2","run":{"new":true}}` + "\n", []string{"tokentape.tape/2", "tokentape.tape/1", "update"}},
		{"no version", `{"type":"header","schema":"tokentape.tape/x"}` + "\n", []string{"tokentape.tape/x"}},
		{"bad header", `{"type":"header","schema":"tokentape.tape/1","run":5}` + "\n", []string{"header", "run"}},
		{"zstd of something else", "\x28\xb5\x2f\xfdgarbage", []string{"header"}},
		{"binary", "\x00\x01\x02\n", []string{"not a tape", `\x00\x01`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t")
			must(t, os.WriteFile(path, []byte(tt.in), 0o600))
			r, err := OpenFile(path)
			must(t, err)
			defer r.Close()
			for err == nil {
				var rec Record
				if rec, err = r.Next(); err == nil {
					if _, ok := rec.(*Fault); !ok {
						t.Fatalf("a %T", rec)
					}
				}
			}
			for _, w := range append(tt.want, path) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if _, again := r.Next(); again != err {
				t.Errorf("a final error changed to %v", again)
			}
		})
	}
	minor := `{"type":"header","schema":"tokentape.tape/1.7","new":1}` + "\n"
	if recs, faults, _, err := readAll([]byte(minor)); err != nil || len(faults) > 0 || len(recs) != 1 {
		t.Errorf("a later minor: %v %v", faults, err)
	}
	if _, err := OpenFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestLongLine(t *testing.T) {
	b := lines(t, `{"type":"request","message":"`+strings.Repeat("x", 200_000)+`"}`, `{"type":"client","t":1}`)
	r := NewReader(bytes.NewReader(b))
	r.limit = 100_000
	var got []string
	for {
		rec, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			break
		}
		got = append(got, fmt.Sprintf("%T", rec))
		if f, ok := rec.(*Fault); ok && (f.Bytes < 200_000 || !strings.Contains(f.Why, "longer than the 100000 bytes")) {
			t.Errorf("%+v", f)
		}
	}
	if d := cmp.Diff([]string{"*tape.Header", "*tape.Fault", "*tape.ClientSample"}, got); d != "" {
		t.Error(d)
	}
}

// What cannot be written leaves the tape as it was.
func TestWriteRefuses(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, false)
	refuse := func(rec any, want string) {
		t.Helper()
		if err := w.Write(rec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", rec, err, want)
		}
	}
	refuse(&Request{}, "header")
	must(t, w.Write(&Header{}))
	refuse(&Header{}, "header")
	refuse(&ClientSample{CPU: math.NaN()}, "NaN")
	refuse(&Scrape{Series: map[string]float64{"a": math.Inf(1)}}, "Inf")
	refuse(&Capabilities{TokensPerEvent: Some(math.NaN())}, "NaN")
	refuse(Request{}, "tape.Request")
	refuse(&Fault{}, "tape.Fault")
	must(t, w.Write(&ClientSample{T: 1}))
	must(t, w.Write(&Footer{}))
	refuse(&ClientSample{}, "footer")
	must(t, w.Close())
	refuse(&ClientSample{}, "closed")
	if recs, faults, _, err := readAll(b.Bytes()); err != nil || len(faults) > 0 || len(recs) != 3 {
		t.Errorf("%d records, %v, %v", len(recs), faults, err)
	}
}

// D06: a full disk is named with the path and --out, at the write and again at the close.
func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			w := NewWriter(full, m.compress)
			w.path = "runs/x/tape.jsonl"
			must(t, w.Write(&Header{}))
			err := w.Flush()
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), w.path) || !strings.Contains(err.Error(), "--out") {
				t.Fatalf("%v", err)
			}
			if again := w.Write(&ClientSample{}); again != err {
				t.Errorf("the error did not stay: %v", again)
			}
			if again := w.Close(); again != err {
				t.Errorf("Close hides it: %v", again)
			}
		})
	}
}

// A failing disk is an error, not the end of the tape.
func TestReadErrorIsNotATear(t *testing.T) {
	for _, m := range modes {
		b := write(t, m.compress, 3, true)
		r := NewReader(io.MultiReader(bytes.NewReader(b[:len(b)-20]), failing{}))
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, syscall.EIO }

// Reading anything ends, without a panic, and what can be read can be written
// and read again to the same.
func FuzzReader(f *testing.F) {
	for _, m := range modes {
		f.Add(write(f, m.compress, 2, true))
		b := write(f, m.compress, 3, false)
		f.Add(b[:len(b)-7])
	}
	f.Add(lines(f, `{"type":"scrape","series":{"a":1e999}}`, "\xff", `{"type":"request","events":{"dt":[1],"kind":"c9999999999"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		recs, faults, _, _ := readAll(b)
		for _, x := range faults {
			if x.Line < 1 || x.Offset < 0 || x.Bytes < 0 || x.Why == "" || len(x.Why) > 2000 {
				t.Fatalf("%+v", x)
			}
		}
		if len(recs) == 0 {
			return
		}
		var out bytes.Buffer
		w := NewWriter(&out, len(b)%2 == 0)
		for _, rec := range recs {
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
		}
		must(t, w.Close())
		again, _, _, err := readAll(out.Bytes())
		must(t, err)
		for _, r := range [][]Record{recs, again} {
			for _, rec := range r {
				switch v := rec.(type) {
				case *Footer:
					v.SHA256 = ""
				case *Header:
					v.Spec = nil // respelled on the way
				case *Request:
					if v.Events.IsZero() {
						v.Events = Events{} // kinds without events are not kept
					}
				}
			}
		}
		// A type field given twice is written once.
		oneType := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Type" }, cmp.Ignore())
		if d := cmp.Diff(recs, again, sameMeaning, oneType); d != "" {
			t.Fatal(d)
		}
	})
}
