package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const epoch = "2026-11-30T04:00:00Z"

// begun is the header of a run on host that began some seconds after the epoch, by the
// wall clock and the machine's.
func begun(run, host string, after float64) Header {
	at, _ := time.Parse(time.RFC3339, epoch)
	d := time.Duration(after * 1e9)
	return Header{
		Run: run, Name: "n", Tool: Tool{Version: "1"}, Host: Host{Name: host, OS: "linux", Arch: "amd64", CPUs: 2},
		Anchor: Anchor{Wall: at.Add(d).Format(time.RFC3339Nano), Clock: "monotonic", Machine: 1e12 + int64(d), ReadStamp: "conn"},
		Spec:   json.RawMessage(`{"name":"n","target":{"api":"openai-chat"},"load":{"requests":3,"concurrency":2,"rate":0},"workload":{"stream":true}}`),
		Plan:   PlanRef{SHA256: "aa", Rows: 3, Kind: "rows"}, Data: DataRef{Path: "d.jsonl", Rows: 9, SHA256: "dd"},
		Server: Server{URL: "http://s/v1", Engine: "sglang", Version: "0.5", Model: "m"},
	}
}

// save writes a tape of three requests, one a second, a sample and a preparation,
// and gives its path.
func save(t testing.TB, h Header, footer bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), h.Run+".jsonl.zst")
	w, err := Create(path, true)
	must(t, err)
	must(t, w.Write(&h))
	must(t, w.Write(&Capabilities{Usage: "end"}))
	p := stream(0, 3)
	p.Seq, p.Phase, p.Session = PrepareSeq, PhasePrepare, Some("s0")
	must(t, w.Write(p))
	must(t, w.Write(&Call{What: CallFlush, Phase: PhasePrepare, T: -5, TEnd: -3, OK: true}))
	must(t, w.Write(&ServerFacts{When: FactsBefore, T: -9, URL: "http://h", OK: true}))
	for i := range int64(3) {
		q := stream(i, 5)
		move(q, nil, &Part{Shift: i * 1e9}, Opt[int64]{})
		q.Conn.ID = i + 1
		q.AttemptLog = []Attempt{{TReleased: Some(i), TEnd: Some(i + 1), Outcome: OutcomeReset}}
		q.Attempts = 2
		must(t, w.Write(q))
	}
	must(t, w.Write(&ClientSample{T: 1e9}))
	must(t, w.Write(&Scrape{T: 2e9, Source: "s", OK: true, Series: map[string]float64{"x": 1}}))
	if footer {
		must(t, w.Write(&Footer{Reason: ReasonCompleted, Planned: 4, OK: 3, NotIssued: 1, Failed: map[string]int64{}, Preparation: 1, Warmup: Some(int64(0)), Tail: Some(int64(0)), TEnd: 3e9}))
	}
	must(t, w.Close())
	return path
}

// merge merges and writes to a file too, so that it can be merged again.
func merge(t testing.TB, force bool, paths ...string) (path string, h *Header, all []byte, err error) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, true)
	if h, err = Merge(w, paths, MergeOptions{Tool: Tool{Version: "2"}, Force: force}); err != nil {
		return "", nil, nil, err
	}
	must(t, w.Close())
	path = filepath.Join(t.TempDir(), "merged.jsonl.zst")
	must(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path, h, b.Bytes(), nil
}

func TestMerge(t *testing.T) {
	a := save(t, begun("a", "h1", 0), true)
	b := save(t, begun("b", "h1", 1), true) // while a ran
	hc := begun("c", "h1", 10.5)            // after both, under the cap that they had together
	hc.Spec = json.RawMessage(strings.Replace(string(hc.Spec), `"concurrency":2`, `"concurrency":4`, 1))
	c := save(t, hc, true)
	ab, _, _, err := merge(t, false, b, a)
	must(t, err)
	var first []byte
	for _, order := range [][]string{{a, b, c}, {c, b, a}, {b, c, a}, {ab, c}, {c, ab}} {
		path, h, all, err := merge(t, false, order...)
		must(t, err)
		if first == nil {
			first = all
			checkMerged(t, h, all, []string{a, b, c})
		}
		if !bytes.Equal(first, all) {
			t.Errorf("%v gives another tape", order)
		}
		if again, _, twice, err := merge(t, false, path); err != nil || !bytes.Equal(twice, all) {
			t.Errorf("%s of one merged tape differs: %v", again, err)
		}
	}
}

// checkMerged: the parts are found again in the merged tape, line by line.
func checkMerged(t *testing.T, h *Header, all []byte, paths []string) {
	recs, faults, _, err := readAll(all)
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	p := h.Merged.Parts
	var groups, shifts, seqs, conns []int64
	for _, q := range p {
		groups, shifts, seqs, conns = append(groups, q.Group), append(shifts, q.Shift), append(seqs, q.Seq), append(conns, q.Conn)
	}
	if !slices.Equal(groups, []int64{0, 0, 1}) || !slices.Equal(shifts, []int64{0, 1e9, 10.5e9}) || !slices.Equal(seqs, []int64{0, 3, 6}) || !slices.Equal(conns, []int64{0, 3, 6}) {
		t.Errorf("groups %v shifts %v seqs %v conns %v", groups, shifts, seqs, conns)
	}
	if p[2].From.V != 10.5e9+800 || p[2].Footer.NotIssued != 1 || p[2].Header.Run != "c" {
		t.Errorf("%+v", p[2])
	}
	var load struct {
		Load struct{ Requests, Concurrency, Rate float64 }
	}
	must(t, json.Unmarshal(h.Spec, &load))
	if l := load.Load; l.Requests != 9 || l.Concurrency != 4 || l.Rate != 0 {
		t.Errorf("load %+v: requests of all, the cap of the first two together", l)
	}
	if h.Server.Engine != "sglang" || h.Plan.Rows != 9 || h.Plan.SHA256 == "aa" || h.Data.Path != "d.jsonl" || !strings.HasPrefix(h.Run, "20261130T040000Z-merged-") {
		t.Errorf("%+v", h)
	}
	seen := map[int64]bool{}
	at := 1
	for i, path := range paths {
		whole, err := os.ReadFile(path)
		must(t, err)
		own, _, sum, err := readAll(whole)
		must(t, err)
		if p[i].SHA256 != sum {
			t.Errorf("part %d is of tape %s, it is %s", i, p[i].SHA256, sum)
		}
		for _, rec := range own[1 : len(own)-1] {
			got := recs[at]
			at++
			if q, ok := got.(*Request); ok {
				if must(t, q.Check()); seen[q.Seq] {
					t.Errorf("seq %d twice", q.Seq)
				}
				seen[q.Seq] = true
				if want := rec.(*Request).TEnd.V + p[i].Shift; q.TEnd.V != want || q.AttemptLog != nil && q.AttemptLog[0].TEnd.V != rec.(*Request).AttemptLog[0].TEnd.V+p[i].Shift {
					t.Errorf("end at %d, want %d", q.TEnd.V, want)
				}
			}
			if part := partOf(got); part != Some(int64(i)) {
				t.Errorf("%T of part %v", got, part)
			}
			move(got, &p[i], nil, Opt[int64]{})
			if d := cmp.Diff(rec, got); d != "" {
				t.Errorf("part %d, moved back: %s", i, d)
			}
		}
	}
	f := recs[len(recs)-1].(*Footer)
	if at != len(recs)-1 || f.Reason != ReasonCompleted || f.Planned != 12 || f.OK != 9 || f.NotIssued != 3 || f.Preparation != 3 || f.TEnd != 13.5e9 || f.Warmup != Some(int64(0)) {
		t.Errorf("%d lines, footer %+v", at, f)
	}
}

// Every field that is a time on some line is moved, so that none is forgotten when the
// model grows.
func TestMoveKnowsEveryTime(t *testing.T) {
	var n int64
	for _, rec := range []Record{new(Request), new(ClientSample), new(Scrape), new(Call), new(ServerFacts)} {
		fill(reflect.ValueOf(rec).Elem(), &n)
		before, _ := json.Marshal(rec)
		move(rec, nil, &Part{Shift: 1 << 30}, Some(int64(7)))
		after, _ := json.Marshal(rec)
		var x, y map[string]any
		must(t, json.Unmarshal(before, &x))
		must(t, json.Unmarshal(after, &y))
		checkTimes(t, fmt.Sprintf("%T", rec), x, y)
	}
}

func checkTimes(t *testing.T, path string, x, y map[string]any) {
	for k, v := range x {
		switch v := v.(type) {
		case map[string]any:
			checkTimes(t, path+"."+k, v, y[k].(map[string]any))
		case []any:
			for i := range v {
				if m, ok := v[i].(map[string]any); ok {
					checkTimes(t, path+"."+k, m, y[k].([]any)[i].(map[string]any))
				}
			}
		case float64:
			if isTime := strings.HasPrefix(k, "t_") || k == "t"; k != "part" && isTime != (y[k].(float64) != v) {
				t.Errorf("%s.%s: %v became %v", path, k, v, y[k])
			}
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	a := save(t, begun("a", "h1", 0), true)
	with := func(run string, after float64, edit func(*Header)) string {
		h := begun(run, "h1", after)
		edit(&h)
		return save(t, h, true)
	}
	spec := func(old, new string) func(*Header) {
		return func(h *Header) { h.Spec = json.RawMessage(strings.Replace(string(h.Spec), old, new, 1)) }
	}
	for _, c := range []struct {
		name, path string
		want       string // of the error; "": none
		forced     bool   // --force merges it
	}{
		{"model", with("b", 20, func(h *Header) { h.Server.Model = "other" }), "server.model: m → other", true},
		{"engine version", with("b", 20, func(h *Header) { h.Server.Version = "" }), "server.version: 0.5 → (none)", true},
		{"dataset", with("b", 20, func(h *Header) { h.Data.SHA256 = "ee" }), "dataset.sha256: dd → ee", true},
		{"plan kind", with("b", 20, func(h *Header) { h.Plan.Kind = "generator" }), "plan.kind: rows → generator", true},
		{"API", with("b", 20, spec("openai-chat", "tgi")), "spec.target.api: openai-chat → tgi", true},
		{"stream", with("b", 20, spec("true", "false")), "spec.workload.stream: true → false", true},
		{"record", with("b", 20, spec(`"name"`, `"record":{"output":"full"},"name"`)), "spec.record.output: (none) → full", true},
		{"cap of a repeat", with("b", 20, spec(`"concurrency":2`, `"concurrency":8`)), "spec.load.concurrency (added up where runs overlap): 2 → 8", true},
		{"cap of a stripe", with("b", 1, spec(`"concurrency":2`, `"concurrency":8`)), "", true},
		{"what is free", with("b", 20, spec(`"requests":3`, `"requests":70`)), "", true},
		{"same run", with("a", 20, func(h *Header) {}), "hold the same run, a", false},
		{"no anchor", with("b", 20, func(h *Header) { h.Anchor.Wall = "" }), "does not say when it began", false},
		{"unreadable anchor", with("b", 20, func(h *Header) { h.Anchor.Wall = "yesterday" }), `at "yesterday" (anchor.wall), which is no time`, false},
		{"clock never set", with("b", 20, func(h *Header) { h.Anchor.Wall = "1970-01-01T00:00:07Z" }), "in the year 1970", false},
		{"negative", with("b", 20, func(h *Header) { h.Anchor.Machine = -4 }), "below 0", false},
		{"years apart", with("b", 20, func(h *Header) { h.Anchor.Wall = "2031-01-01T00:00:00Z"; h.Host.Name = "h2" }), "days apart: a clock was wrong", true},
		{"one host, two clocks", with("b", 1, func(h *Header) { h.Anchor.Machine += 7e9 }), "by the machine's monotonic clock 8s", true},
		{"apart by the wall, at once by the machine", with("b", 1000, func(h *Header) { h.Anchor.Machine = 1e12 + 1e9 }), "by the machine's monotonic clock 1s", true},
		{"restarted between", with("b", 1000, func(h *Header) { h.Anchor.Machine = 5e9 }), "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := merge(t, false, a, c.path)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			var u *UnlikeError
			if errors.As(err, &u) && len(u.Differences) != 1 {
				t.Errorf("more than that differs: %v", err)
			}
			path, h, _, err := merge(t, true, c.path, a)
			if (err == nil) != c.forced {
				t.Fatalf("forced: %v", err)
			}
			if err != nil || c.want == "" {
				return
			}
			if len(h.Merged.Forced) != 1 || !strings.Contains(h.Merged.Forced[0], c.want) || !strings.Contains(strings.Join(h.Notes, "\n"), c.want) {
				t.Errorf("forced %q, notes %q", h.Merged.Forced, h.Notes)
			}
			if _, _, _, err := merge(t, false, path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("merged again without force: %v", err)
			}
		})
	}
}

func TestMergeOfOthersHosts(t *testing.T) {
	a, b, c := save(t, begun("a", "h1", 0), true), save(t, begun("b", "h2", 1), true), save(t, begun("c", "h2", 50), true)
	note := "2 tapes ran at the same time on hosts h1, h2"
	if _, h, _, err := merge(t, false, a, b); err != nil || !strings.Contains(strings.Join(h.Notes, "\n"), note) || h.Anchor.Machine != 0 {
		t.Errorf("%v %+v", err, h)
	}
	if _, h, _, err := merge(t, false, a, c); err != nil || strings.Contains(strings.Join(h.Notes, "\n"), "at the same time") {
		t.Errorf("%v %+v", err, h)
	}
}

// A tape that is not whole is merged as far as it goes, and says so; a merged one is
// refused, since its parts are to be had.
func TestMergeOfDamaged(t *testing.T) {
	a, torn := save(t, begun("a", "h1", 0), true), save(t, begun("b", "h1", 20), false)
	_, h, all, err := merge(t, false, torn, a)
	must(t, err)
	recs, _, _, _ := readAll(all)
	if f := recs[len(recs)-1].(*Footer); f.Reason != ReasonMerged || f.Planned != 4+3 || f.OK != 6 || !strings.Contains(f.Message, "no footer") || h.Merged.Parts[1].Footer != nil {
		t.Errorf("%+v", f)
	}
	plain := func(b []byte) []byte {
		var out bytes.Buffer
		recs, _, _, _ := readAll(b)
		w := NewWriter(&out, false)
		for _, r := range recs {
			must(t, w.Write(r))
		}
		must(t, w.Close())
		return out.Bytes()
	}
	whole, err := os.ReadFile(a)
	must(t, err)
	edited := filepath.Join(t.TempDir(), "edited.jsonl")
	must(t, os.WriteFile(edited, bytes.Replace(plain(whole), []byte(`"finish":"length"`), []byte(`"finish":"stop"`), 1), 0o644))
	_, h, _, err = merge(t, false, edited)
	if err != nil || h.Merged.Parts[0].Faults != 1 || !strings.Contains(h.Merged.Parts[0].Fault, "edited") {
		t.Errorf("%v %+v", err, h)
	}
	both, _, all, err := merge(t, false, a, torn)
	must(t, err)
	must(t, os.WriteFile(both, all[:len(all)-20], 0o644))
	if _, _, _, err = merge(t, false, both); err == nil || !strings.Contains(err.Error(), "a merged tape that is not whole") {
		t.Error(err)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), "merge_test.go", os.DevNull} {
		if _, _, _, err := merge(t, true, a, path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func FuzzMergeHeaders(f *testing.F) {
	f.Add("2026-11-30T04:00:00Z", int64(5), `{"load":{"concurrency":2}}`, "h")
	f.Add("", int64(-5), `{"load":3}`, "")
	f.Add("9999-12-31T23:59:59Z", int64(0), `[1,{"a":[null]}]`, "h1")
	f.Fuzz(func(t *testing.T, wall string, machine int64, spec, host string) {
		h := begun("b", host, 0)
		h.Anchor.Wall, h.Anchor.Machine = wall, machine
		if h.Spec = json.RawMessage(spec); !json.Valid(h.Spec) {
			h.Spec = nil
		}
		_, _, all, err := merge(t, true, save(t, begun("a", "h1", 3), true), save(t, h, true))
		if err != nil {
			return
		}
		if _, faults, _, err := readAll(all); err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
	})
}
