package report

import (
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// probed is a probe with a step of each verdict and a capability in each state.
func probed() *analysis.Results {
	r := &analysis.Results{Schema: analysis.Schema, Run: "01JDX8Z6K9", Name: "probe", About: about(), Verdict: analysis.Verdict{Line: "probe: 1 of 4 steps failed: whole"}}
	r.Probe = &analysis.Probe{Only: true, Requests: 2, Steps: []analysis.ProbeStep{
		{Name: "resolve", Result: "not_observed", Seen: "an address: there is no name to look up"},
		{Name: "connect", Result: "ok", MS: p(0.25), Seen: "127.0.0.1:30000"},
		{Name: "models", Result: "ok", MS: p(12.5), Seen: "deepseek-v4-flash", URL: "http://127.0.0.1:30000/v1/models", Status: new(int64(200)), Headers: []string{"Server: uvicorn", "Via: 1.1 gateway"}},
		{Name: "whole", Result: "failed", MS: p(3.0), Seen: "http_status: POST … was answered 400 Bad Request\x1b[2J", Do: "give the address of the router", Status: new(int64(400)), Request: "probe-0"},
	}, Capabilities: []analysis.Capability{
		{Name: "usage", State: analysis.StateObserved, Value: "end", From: "one stream"},
		{Name: "chat_overhead", State: analysis.StateInferred, Value: "7", From: "prompts of 8, 16 and 32 equal words are 15, 23 and 39 tokens"},
		{Name: "cached_tokens", State: analysis.StateNone, From: "the same long prompt was not sent twice"},
		{Name: "model", State: analysis.StateNone},
	}}
	return r
}

func TestProbePage(t *testing.T) {
	golden(t, "probe.txt", text(t, probed(), consoleOf(Options{Width: 100})))
	golden(t, "probe.md", text(t, probed(), markdownOf(Options{})))
	// Beside a load: one line, and all of it among the full tables.
	r := openLoop()
	r.Probe = probed().Probe
	r.Probe.Only = false
	for want, o := range map[string]Options{
		"probe     2 requests · usage end · cached tokens not observed · model not observed": {Width: 100},
		"What the server reports and obeys":                                                  {Width: 100, Full: true},
		"→ give the address of the router":                                                   {Width: 100, Full: true},
	} {
		if got := text(t, r, consoleOf(o)); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// The rows of several addresses belong to the requests, and stand below them.
func TestAddressesHangUnderRequests(t *testing.T) {
	r := openLoop()
	r.Probe = probed().Probe
	r.Probe.Only = false
	r.Remotes = []analysis.Remote{{Address: "127.0.0.1:31100", Requests: 80}, {Address: "127.0.0.1:31101", Requests: 80}}
	got := text(t, r, consoleOf(Options{Width: 100}))
	requests, row, probe := strings.Index(got, "requests "), strings.Index(got, "127.0.0.1:31101: 80"), strings.Index(got, "probe     2 requests")
	if requests < 0 || row < requests || probe < row {
		t.Errorf("requests %d, row %d, probe %d in\n%s", requests, row, probe, got)
	}
	// Of several servers each has its own heading, and the line names what each said.
	for _, c := range r.Probe.Capabilities {
		c.Server = "http://b"
		if c.Name == "usage" {
			c.Value = "never"
		}
		r.Probe.Capabilities = append(r.Probe.Capabilities, c)
	}
	if got := text(t, r, consoleOf(Options{Width: 100, Full: true})); !strings.Contains(got, "obeys (http://b)") {
		t.Error(got)
	}
	if got := text(t, r, consoleOf(Options{Width: 100})); !strings.Contains(got, "usage end | never") {
		t.Error(got)
	}
}
