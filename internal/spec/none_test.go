package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const openSpec = `
target: {url: "127.0.0.1:1"}
workload: {dataset: {path: x.jsonl}, output_tokens: 32}
load: {requests: 10, concurrency: 4, rate: 6, arrivals: gamma, burstiness: 0.5, ramp: {shape: linear, from: 1, duration: 1s}}
`

func readWith(t *testing.T, text string, sets ...Set) (*Spec, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, issues := Read(path, nil, sets)
	return s, format(issues)
}

// none takes back what the file says: the spec is the one without these lines.
func TestNone(t *testing.T) {
	none := func(path string) Set { return Set{Path: path, Value: "none", Origin: "--x"} }
	for _, c := range []struct {
		name, file, without string
		sets                []Set
		refused             string
	}{
		{"rate", openSpec, strings.NewReplacer("rate: 6, arrivals: gamma, burstiness: 0.5, ramp: {shape: linear, from: 1, duration: 1s}", "").Replace(openSpec), []Set{none("load.rate")}, ""},
		{"concurrency", openSpec, strings.Replace(openSpec, "concurrency: 4, ", "", 1), []Set{none("load.concurrency")}, ""},
		{"output_tokens", openSpec, strings.Replace(openSpec, ", output_tokens: 32", "", 1), []Set{none("workload.output_tokens")}, ""},
		{"requests, for a time", openSpec, strings.Replace(openSpec, "requests: 10", "duration: 5s", 1),
			[]Set{{Path: "load.duration", Value: "5s", Origin: "--duration"}, none("load.requests")}, ""},
		{"neither", openSpec, "", []Set{none("load.rate"), none("load.concurrency")}, "no cap needs a rate"},
		{"no end", openSpec, "", []Set{none("load.requests")}, "the run would never end"},
		{"nothing to take back", openSpec, "", []Set{none("load.attempts")}, "is not a whole number"},
		{"stages", "target: {url: h}\nworkload: {dataset: {path: x}}\nload: {stages: [{rate: 5, duration: 1s}]}\n", "", []Set{none("load.rate")}, "none has no effect"},
		{"shape after it", openSpec, "", []Set{none("load.rate"), {Path: "load.arrivals", Value: "poisson", Origin: "--arrivals"}}, "without load.rate there are no arrivals"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, issues := readWith(t, c.file, c.sets...)
			if c.refused != "" {
				if !strings.Contains(issues, c.refused) {
					t.Errorf("issues %q, want %q", issues, c.refused)
				}
				return
			}
			want, wantIssues := readWith(t, c.without)
			if issues != wantIssues || got.Load.Rate != want.Load.Rate {
				t.Errorf("issues %q, want %q", issues, wantIssues)
			}
			want.Workload.Dataset.Path = got.Workload.Dataset.Path
			if diff := cmp.Diff(string(want.YAML()), string(got.YAML())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What may be given when the load is over, over the spec of a tape.
func TestAfter(t *testing.T) {
	recorded := func(text string) json.RawMessage {
		s, issues := readWith(t, "target: {url: h}\nworkload: {dataset: {path: x}}\n"+text)
		if issues != "" {
			t.Fatal(issues)
		}
		return s.JSON()
	}
	priced := recorded("devices: 8\ncost: {per_device_hour: 2, currency: USD}\nreport: {slo: {tpot_ms: 50}}\n")
	for _, c := range []struct {
		name     string
		recorded json.RawMessage
		sets     string // PATH=VALUE, by spaces
		over     string // what is laid over, as JSON
		given    string
		refused  string
	}{
		{"devices of a tape without", nil, "devices=16 cost.per_device_hour=2.5",
			`{"cost":{"per_device_hour":2.5,"per_hour":0,"currency":""},"devices":{"total":16,"prefill":0,"decode":0}}`, "devices=16; cost.per_device_hour=2.5", ""},
		{"two kinds", priced, "devices.prefill=6 devices.decode=4", `{"devices":{"total":10,"prefill":6,"decode":4}}`, "devices.prefill=6; devices.decode=4", ""},
		{"in place", priced, "devices={prefill:\u00a01,decode:\u00a01} cost.per_hour=9",
			`{"cost":{"per_device_hour":0,"per_hour":9,"currency":"USD"},"devices":{"total":2,"prefill":1,"decode":1}}`,
			"devices={prefill: 1,decode: 1} in place of 8; cost.per_hour=9", ""},
		{"a limit beside the tape's", priced, "report.slo.ttft_ms=2000",
			`{"report":{"slo":{"ttft_ms":2000,"ttft_from_due_ms":0,"tpot_ms":50,"itl_ms":0,"e2e_ms":0,"e2e_from_due_ms":0},"strict":null}}`, "report.slo.ttft_ms=2000", ""},
		{"a limit taken back", priced, "report.slo.tpot_ms=0",
			`{"report":{"slo":{"ttft_ms":0,"ttft_from_due_ms":0,"tpot_ms":0,"itl_ms":0,"e2e_ms":0,"e2e_from_due_ms":0},"strict":null}}`, "report.slo.tpot_ms=0 in place of 50", ""},
		{"sent long ago", priced, "load.rate=5", "", "", "what can be given afterwards: devices, cost"},
		{"a flag of its own", priced, "report.windows=[steady]", "", "", "give it by --window"},
		{"misspelt", priced, "report.slo.ttf_ms=5", "", "", "ttft_ms"},
		{"not a number", priced, "devices=many", "", "", "is not a whole number"},
		{"out of range", priced, "cost.per_hour=1e13", "", "", "--set cost.per_hour: 1e+13 is out of range"},
		{"no devices to price", nil, "cost.per_device_hour=2.5", "", "", "no devices are given"},
		{"unknown note", priced, "report.strict=[slotwait]", "", "", "slot_wait"},
		{"no due times", priced, "report.slo.ttft_from_due_ms=5", "", "", "without load.rate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sets []Set
			for _, kv := range strings.Split(c.sets, " ") {
				path, value, _ := strings.Cut(strings.ReplaceAll(kv, "\u00a0", " "), "=")
				sets = append(sets, Set{Path: path, Value: value, Origin: "--set " + path})
			}
			got, issues := After(c.recorded, sets)
			if text := format(issues); c.refused != "" || text != "" {
				if c.refused == "" || !strings.Contains(text, c.refused) {
					t.Errorf("issues %q, want %q", text, c.refused)
				}
				return
			}
			if given := strings.Join(got.Given, "; "); string(got.Spec) != c.over || given != c.given {
				t.Errorf("%s\n%s\ngiven %s", cmp.Diff(c.over, string(got.Spec)), got.Spec, given)
			}
		})
	}
}

// ${VARIABLE} in a flag that holds a credential is filled in here, so that the
// value is no argument of the process; other flags are taken as they stand.
func TestCredentialFlags(t *testing.T) {
	env := environ(map[string]string{"KEY": "sk-1"})
	s, issues := Read("", env, []Set{
		{Path: "target.url", Value: "h:1"}, {Path: "workload.dataset.path", Value: "x"}, {Path: "workload.template", Value: "${KEY} {question}"},
		{Path: "target.api_key", Value: "${KEY}"}, {Path: "target.headers.X-Token", Value: "a ${KEY}"},
	})
	if text := format(issues); text != "" || s.Target.APIKey != "sk-1" || s.Target.Headers["X-Token"] != "a sk-1" || s.Workload.Template != "${KEY} {question}" {
		t.Errorf("%s %+v", text, s.Target)
	}
	_, issues = Read("", env, []Set{{Path: "target.api_key", Value: "${sk-2}"}})
	if text := format(issues); !strings.Contains(text, "begins no variable") || strings.Contains(text, "sk-2") {
		t.Error(text)
	}
	_, issues = Read("", env, []Set{{Path: "target.api_key", Value: "${NO_KEY}", Origin: "--api-key"}})
	if text := format(issues); !strings.Contains(text, "--api-key: ") || !strings.Contains(text, "NO_KEY") {
		t.Error(text)
	}
}
