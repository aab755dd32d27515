package tape

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FORMAT.md describes every field of every type, and no other.
func TestFormatIsTrue(t *testing.T) {
	text, err := os.ReadFile("FORMAT.md")
	must(t, err)
	sections := map[string]string{}
	for _, s := range strings.Split(string(text), "\n### ")[1:] {
		name, body, _ := strings.Cut(s, "\n")
		body, _, _ = strings.Cut(body, "\n## ")
		sections[name] = body
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|")
	for name, v := range map[string]any{
		"header": Header{}, "tool": Tool{}, "anchor": Anchor{}, "plan": PlanRef{}, "dataset": DataRef{}, "tokenizer": FileRef{},
		"host": Host{}, "server": Server{}, "tls": TLS{}, "capabilities": Capabilities{}, "request": Request{}, "ref": Ref{}, "conn": Conn{},
		"events": Events{}, "asked": Asked{}, "tokens": Tokens{}, "bytes": Bytes{}, "http": HTTP{}, "attempt_log": Attempt{},
		"output": Output{}, "src": Src{}, "import": Import{}, "client": ClientSample{}, "wait": ClientWait{}, "envelope": Envelope{}, "runtime": Runtime{}, "points": EnvelopePoint{}, "scrape": Scrape{}, "call": Call{}, "example": Example{}, "step": Step{}, "server_facts": ServerFacts{}, "source": Source{}, "cache": CachePlan{}, "merged": Merged{}, "part": Part{}, "footer": Footer{},
	} {
		body, ok := sections[name]
		if !ok {
			t.Errorf("no section %q", name)
			continue
		}
		delete(sections, name)
		var said, have []string
		for _, m := range row.FindAllStringSubmatch(body, -1) {
			said = append(said, m[1])
		}
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			tag, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			have = append(have, tag)
			if ft := typ.Field(i).Type; ft.PkgPath() == typ.PkgPath() && ft.Kind() == reflect.Struct && !strings.HasPrefix(ft.Name(), "Opt[") &&
				!strings.Contains(string(text), "\n### "+tag+"\n") {
				t.Errorf("%s.%s has no section", name, tag)
			}
		}
		if !slices.Equal(said, have) {
			t.Errorf("%s: FORMAT.md has %v, the model %v", name, said, have)
		}
	}
	for name := range sections {
		t.Errorf("section %q describes no type", name)
	}
	if !strings.Contains(string(text), "`"+Schema+"`") {
		t.Errorf("FORMAT.md is not of %s", Schema)
	}
	for _, word := range []any{
		PhaseProbe, PhasePrepare, PhaseWarmup, PhaseMeasure, PhaseTail,
		OutcomeOK, OutcomeStatus, OutcomeConnect, OutcomeTimeout, OutcomeReset, OutcomeTruncated, OutcomeServer, OutcomeMalformed,
		OutcomeTooLarge, OutcomeNotStream, OutcomeRedirect, OutcomeEmpty, OutcomeFiltered, OutcomeAborted, OutcomeCancelled, OutcomeClient, OutcomeUnknown, OutcomeAbandoned,
		ReasonCompleted, ReasonDuration, ReasonInterrupted, ReasonRefused, ReasonWarmup, ReasonRecorder, ReasonDisk, ReasonInternal, ReasonDataset, ReasonRows, ReasonAbort, ReasonMerged, ReasonImported,
		CallFlush, FactsBefore, FactsAfter, ScrapeConnect, ScrapeTimeout, ScrapeAuth, ScrapeStatus, ScrapeTooLarge, ScrapeCoding, ScrapeBroken, ScrapeEmpty, CacheBySpec, CacheByManifest, SourceUsage, SourceEngine, SourceTokenizer, SourceEvents,
	} {
		if w := reflect.ValueOf(word).String(); !strings.Contains(string(text), "`"+w+"`") && !strings.Contains(string(text), "`\""+w+"\"`") {
			t.Errorf("FORMAT.md does not name %q", w)
		}
	}
	_, kinds, _ := strings.Cut(string(text), "\n## Kinds\n")
	for _, kind := range "rcstxhfuedo" {
		line := regexp.MustCompile("(?m)^\\| `" + string(kind) + "` \\|.*$").FindString(kinds)
		if line == "" || strings.Contains(line, "| yes |") != IsToken(byte(kind)) {
			t.Errorf("kind %c: %q", kind, line)
		}
	}
}
