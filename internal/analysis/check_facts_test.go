package analysis

import (
	"encoding/json"
	"strings"
	"testing"

	"tokentape/tape"
)

// says puts what a server said before and after on the tape; change makes the second.
func (s *script) says(change func(after *tape.ServerFacts)) {
	facts := func() map[string]string {
		return map[string]string{"/get_server_info version": "0.5", "/get_server_info tp_size": "8", "/get_server_info kv_events": "17", "/get_server_info dtype": "bf16"}
	}
	before := &tape.ServerFacts{When: tape.FactsBefore, T: -5, URL: "http://h:1", OK: true, Engine: "sglang", Version: "0.5", Models: []string{"m"}, Facts: facts()}
	after := &tape.ServerFacts{When: tape.FactsAfter, T: 5, URL: "http://h:1", OK: true, Engine: "sglang", Version: "0.5", Models: []string{"m"}, Facts: facts()}
	change(after)
	s.more = append(s.more, before, after)
}

// replies names the model in the replies of the requests in [from, to).
func (s *script) replies(from, to int, model string) {
	for _, q := range s.reqs[from:to] {
		q.Model = tape.Some(model)
	}
}

func TestFactsAndModels(t *testing.T) {
	restart := func(s *script) {
		s.more = append(s.more, &tape.Scrape{Source: "p", OK: true, Series: map[string]float64{"process_start_time_seconds": 5}},
			&tape.Scrape{Source: "p", OK: true, Series: map[string]float64{"process_start_time_seconds": 9}})
	}
	for _, c := range []struct {
		check, name string
		edit        func(*script)
		result, why string
	}{
		{"server_changed", "the same", func(s *script) { s.says(func(*tape.ServerFacts) {}) }, ResultPass, "(7 facts)"},
		{"server_changed", "another version", func(s *script) {
			s.says(func(f *tape.ServerFacts) { f.Version, f.Facts["/get_server_info version"] = "0.6", "0.6" })
		}, ResultMiss, "http://h:1 says of itself changed in mid-run: version 0.5 → 0.6"},
		{"server_changed", "another list", func(s *script) { s.says(func(f *tape.ServerFacts) { f.Models = []string{"m", "x"} }) }, ResultMiss, "models m → m, x"},
		{"server_changed", "another setting", func(s *script) { s.says(func(f *tape.ServerFacts) { f.Facts["/get_server_info tp_size"] = "4" }) }, ResultMiss, "/get_server_info tp_size 8 → 4"},
		{"server_changed", "another word", func(s *script) { s.says(func(f *tape.ServerFacts) { f.Facts["/get_server_info dtype"] = "fp8" }) }, ResultMiss, "dtype bf16 → fp8"},
		{"server_changed", "a word that is gone", func(s *script) { s.says(func(f *tape.ServerFacts) { delete(f.Facts, "/get_server_info dtype") }) }, ResultMiss, "dtype bf16 → (none)"},
		{"server_changed", "a number that is no setting", func(s *script) { s.says(func(f *tape.ServerFacts) { f.Facts["/get_server_info kv_events"] = "99" }) }, ResultPass, "the same"},
		{"server_changed", "an endpoint that failed", func(s *script) {
			s.says(func(f *tape.ServerFacts) {
				f.Version, f.Facts, f.Failed = "", map[string]string{}, map[string]string{"/get_server_info": "status 500"}
			})
		}, ResultPass, "(2 facts)"},
		{"server_changed", "no answer", func(s *script) { s.says(func(f *tape.ServerFacts) { *f = tape.ServerFacts{When: f.When, URL: f.URL} }) }, ResultNone, "gave no answer after it"},
		{"server_changed", "killed before the second", func(s *script) { s.says(func(*tape.ServerFacts) {}); s.more = s.more[:len(s.more)-1] }, ResultNone, "not asked before and after"},
		{"server_changed", "restart and version", func(s *script) { restart(s); s.says(func(f *tape.ServerFacts) { f.Version = "0.6" }) }, ResultMiss, "version 0.5 → 0.6"},
		{"server_changed", "controls", func(s *script) { s.says(func(f *tape.ServerFacts) { f.Version = "\x1b[2J\n" }) }, ResultMiss, "version 0.5 → ?[2J"},
		{"server_changed", "another model from request 400 on", func(s *script) { s.replies(0, 400, ""); s.replies(400, 900, "b") }, ResultMiss, `several models: "m" in 400, first in request 0; "b" in 500, first in request 400`},
		{"server_changed", "one other name", func(s *script) { s.replies(0, 900, "b") }, ResultNone, ""},
		{"server_changed", "two servers, a name each", func(s *script) {
			s.urls = []string{"http://a", "http://b"}
			for i, q := range s.reqs {
				q.URL, q.Model = tape.Some(int64(i%2)), tape.Some([]string{"a", "b"}[i%2])
			}
		}, ResultNone, ""},

		{"model_replied", "none", func(*script) {}, ResultNone, "no reply named its model"},
		{"model_replied", "as asked", func(s *script) { s.replies(0, 900, "") }, ResultPass, "900 replies named the model that was asked for"},
		{"model_replied", "another", func(s *script) { s.replies(0, 900, "b") }, ResultMiss, `900 replies named "b", not "m" (first request 0)`},
		{"model_replied", "one", func(s *script) { s.replies(0, 900, ""); s.replies(7, 8, "b") }, ResultMiss, `1 reply named "b", not "m" (first request 7)`},
		{"model_replied", "its path", func(s *script) { s.replies(0, 900, "/models/m") }, ResultPass, "900 replies"},
		{"model_replied", "its date", func(s *script) { s.replies(0, 900, "m-2024-08-06") }, ResultPass, "900 replies"},
		{"model_replied", "no date", func(s *script) { s.replies(0, 900, "m-2") }, ResultMiss, `"m-2"`},
	} {
		t.Run(c.check+": "+c.name, func(t *testing.T) {
			s := steadyRun(900)
			c.edit(s)
			res := s.analyse(t, Options{})
			got := check(t, res, c.check)
			if got.Result != c.result || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s %q, want %s with %q", got.Result, got.Why, c.result, c.why)
			}
			if got.Result == ResultMiss && (got.Do == "" || got.Value == nil || *got.Value == 0) {
				t.Errorf("a miss without advice or number: %+v", got)
			}
			provenanceIsWhole(t, res.Provenance)
		})
	}
}

// provenanceIsWhole checks what a page relies on.
func provenanceIsWhole(t *testing.T, p *Provenance) {
	t.Helper()
	if p == nil || len(p.Sections) < 6 {
		t.Fatalf("%+v", p)
	}
	for _, s := range p.Sections {
		if s.Name == "" || len(s.Facts) == 0 {
			t.Errorf("a section without name or facts: %+v", s)
		}
		for _, f := range s.Facts {
			if f.Name == "" || f.Value != nil && *f.Value == "" {
				t.Errorf("%s: %+v", s.Name, f)
			}
		}
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}

// What an old tape does not say is not observed, and what changed stands first.
func TestProvenance(t *testing.T) {
	value := func(p *Provenance, section, name string) (string, string) {
		for _, s := range p.Sections {
			for _, f := range s.Facts {
				if s.Name == section && f.Name == name {
					if f.Value == nil {
						return "not observed", f.After
					}
					return *f.Value, f.After
				}
			}
		}
		return "missing", ""
	}
	s := steadyRun(3)
	p := s.analyse(t, Options{}).Provenance
	for _, c := range []struct{ section, name, want string }{
		{"run", "command", "not observed"}, {"client's machine", "kernel", "not observed"}, {"client's machine", "cgroup CPU quota", "not observed"},
		{"client's machine", "stolen since boot", "not observed"}, {"tool", "source changed", "not observed"}, {"replies", "model named", "not observed"},
	} {
		if got, _ := value(p, c.section, c.name); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.section, c.name, got, c.want)
		}
	}
	s.says(func(f *tape.ServerFacts) { f.Version = "0.6" })
	s.replies(0, 2, "b")
	p = s.analyse(t, Options{}).Provenance
	said := "what http://h:1 says of itself"
	if got, after := value(p, said, "version"); got != "0.5" || after != "0.6" {
		t.Errorf("version %s, after %s", got, after)
	}
	if got, _ := value(p, said, "/get_server_info dtype"); got != "bf16" {
		t.Errorf("dtype %s", got)
	}
	if got, _ := value(p, "replies", "model named"); got != "b: 2 replies, first in request 0" {
		t.Errorf("replies: %s", got)
	}
}
