package compare

import (
	"encoding/json"
	"strings"
	"testing"

	"tokentape/internal/secret"
	"tokentape/tape"
)

func side1(name string, facts ...map[string]string) *side {
	s := &side{name: name}
	for _, f := range facts {
		s.runs = append(s.runs, &run{facts: f})
	}
	return s
}

func TestFactsOf(t *testing.T) {
	h := &tape.Header{
		Type: "header", Run: "r1", Spec: []byte(`{"target":{"api_key":"sk-12345678","headers":{"X-Auth":"abcd1234","X-Team":"blue"},"url":"http://me:pw@host/v1"},"load":{"rate":0.1,"stages":[{"rate":5},{"rate":10}]},"workload":{"sampling":{},"output_tokens":9007199254740993}}`),
		Server: tape.Server{Version: "0.5.6"}, Data: tape.DataRef{SHA256: "d1"},
	}
	got := factsOf(h, []*tape.Capabilities{{Type: "capabilities", Usage: "end"}}, nil)
	for path, want := range map[string]string{
		"spec.target.api_key": mask, "spec.target.headers.X-Auth": mask, "spec.target.headers.X-Team": secret.Mark("X-Team", "blue"), "spec.target.url": "http://***@host/v1",
		"spec.load.rate": "0.1", "spec.load.stages[1].rate": "10", "spec.workload.sampling": "{}", "spec.workload.output_tokens": "9007199254740993",
		"server.version": "0.5.6", "dataset.sha256": "d1", "capabilities.usage": "end",
	} {
		if got[path] != want {
			t.Errorf("%s is %q, want %q", path, got[path], want)
		}
	}
	for _, path := range []string{"run", "anchor.wall", "anchor.machine_ns", "type", "notes"} {
		if v, ok := got[path]; ok {
			t.Errorf("%s (%q) differs by nature, and is no fact", path, v)
		}
	}
	for path, v := range got {
		if strings.Contains(v, "sk-1234") || strings.Contains(v, "abcd") || strings.Contains(v, "pw@") {
			t.Errorf("%s shows a secret: %s", path, v)
		}
	}
}

func TestDifferences(t *testing.T) {
	a := side1("A", map[string]string{"same": "1", "x": "1", "gone": "y"}, map[string]string{"same": "1", "x": "1", "gone": "y"})
	b := side1("B", map[string]string{"same": "1", "x": "2"}, map[string]string{"same": "1", "x": "3", "new": "z"})
	got := differences(a, b)
	want := []Difference{{"gone", "y", ""}, {"new", "", "– | z"}, {"x", "1", "2 | 3"}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
	if w := strings.Join(b.within(), " "); w != "new x" {
		t.Errorf("within B differ %q", w)
	}
	if w := a.within(); len(w) != 0 {
		t.Errorf("within A differ %q", w)
	}
}

// FuzzFlatten: any JSON that stands as a spec on a tape becomes facts without a panic,
// and no string below a credential's name is shown.
func FuzzFlatten(f *testing.F) {
	for _, s := range []string{`{"a":{"b":[1,{"c":null}]}}`, `{"api_key":"s3cr3tvalue"}`, `[[[]]]`, `"x"`, `{`, ``, `1e999`, `{"":{"":""}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := map[string]string{}
		flatten(out, "spec", text)
		for path, v := range out {
			if strings.HasSuffix(path, ".api_key") && v != mask && v != "" && strings.Trim(v, "0123456789.-+eE") != "" && v != "{}" && v != "[]" && v != "true" && v != "false" {
				t.Errorf("%s shows %q", path, v)
			}
		}
	})
}

// What tells runs apart is a fact; what is different in every run by itself is none.
func TestFactsOfWhereARunComesFrom(t *testing.T) {
	h := &tape.Header{
		Command: []string{"tokentape", "run"}, Spec: json.RawMessage(`{"notes":{"cards":"8"}}`),
		Host:   tape.Host{CPUModel: "A", Load: []float64{1, 2, 3}, Available: 5, Steal: tape.Some(0.1), Quota: tape.Some(1.5)},
		Tool:   tape.Tool{Version: "1", Modified: tape.Some(true)},
		Source: &tape.Source{Path: "s", Commit: "abc", Changed: tape.Some(int64(2))},
		Envelope: &tape.Envelope{Measured: "2026-11-30T16:34:34Z", Limit: 1e6, Points: []tape.EnvelopePoint{
			{Streams: 32, Rate: 20, Error: 246159, Held: true}, {Streams: 48, Rate: 20, Error: 402903, Held: true}, {Streams: 64, Rate: 20, Error: 5805593},
			{Streams: 16, Rate: 100, Error: 1106137}, {Streams: 32, Rate: 100, Error: 1012233},
		}},
	}
	got := factsOf(h, nil, []*tape.ServerFacts{
		{When: tape.FactsBefore, URL: "http://a", Facts: map[string]string{"/version version": "0.5", "/x api_key": "sk-1"}},
		{When: tape.FactsBefore, URL: "http://b", Facts: map[string]string{"/version version": "0.6"}},
		{When: tape.FactsAfter, URL: "http://a", Facts: map[string]string{"/version version": "0.7"}},
	})
	for path, want := range map[string]string{
		"server.says /version version": "0.5", "server.says[1] /version version": "0.6", "server.says /x api_key": "***", "spec.notes.cards": "8",
		"host.cpu_model": "A", "host.cpu_quota": "1.5", "tool.modified": "true", "source.commit": "abc", "source.changed": "2",
		"command[0]": "", "host.load[0]": "", "host.memory_available": "", "host.steal": "",
	} {
		if got[path] != want {
			t.Errorf("%s: %q, want %q", path, got[path], want)
		}
	}
	// Doctor's measurements are one fact, and none of it is a time or a noise.
	if want := "≤1 ms: 48 × 20 tokens/s, <16 × 100 tokens/s"; got["envelope"] != want {
		t.Errorf("envelope: %q, want %q", got["envelope"], want)
	}
	for path := range got {
		if strings.HasPrefix(path, "envelope.") {
			t.Errorf("%s = %s is a measurement of doctor's", path, got[path])
		}
	}
}
