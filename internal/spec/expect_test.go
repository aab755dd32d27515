package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// specFile is a file with that text.
func specFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExpect(t *testing.T) {
	for _, c := range []struct {
		yaml, at, message, hint string
	}{
		{"expect: [steady.ttft_ms.p95 < 2000, counts.failed == 0, finish == length]", "", "", ""},
		{"expect:\n  - verdict.fit == true\n  - \"tokens.output == asked.output\"\n  - seconds:10..60.ttft_ms.p50 < 3", "", "", ""},
		{"expect:\n  - steady.tttf_ms.p95 < 2000", "s.yaml:2:12", `"tttf_ms" is no metric`, "did you mean ttft_ms?"},
		{"expect:\n  - 'steady.ttft_ms.p96 < 2000'", "s.yaml:2:21", `"p96" is no statistic`, "did you mean p90? one of: n, n_eff"},
		{"expect: [stedy.ttft_ms.p95 < 1]", "s.yaml:1:10", `is no window`, "did you mean steady.ttft_ms.p95?"},
		{"expect: [count.failed == 0]", "s.yaml:1:10", `"count.failed" is no window`, "did you mean counts.failed?"},
		{"expect: [steady.ttft_ms.p95 < 2s]", "s.yaml:1:31", `"2s" is not a number`, "in ms"},
		{"expect: [counts.failed = 0]", "s.yaml:1:24", "a comparison is needed", "=="},
		{"expect: [rows:9..1.ttft_ms.p50 < 1]", "s.yaml:1:10", "there can be no window rows:9..1", "rows:100..299"},
		{"expect: [counts.ok > 1, counts.ok > 1]", "s.yaml:1:25", "given twice", "keep one"},
		{"expect: counts.ok > 1", "s.yaml:1:9", "a list is needed", "write [counts.ok > 1]"},
	} {
		_, issues := Read(specFile(t, c.yaml), nil, nil)
		if c.at == "" {
			if len(issues) > 0 {
				t.Errorf("%s: %v", c.yaml, issues)
			}
			continue
		}
		if len(issues) != 1 {
			t.Errorf("%s: %d issues: %v", c.yaml, len(issues), issues)
			continue
		}
		text := issues[0].Error()
		if !strings.Contains(text, c.at+": ") || !strings.Contains(text, c.message) || !strings.Contains(text, c.hint) {
			t.Errorf("%s: %s", c.yaml, text)
		}
	}
}

func TestCheckCondition(t *testing.T) {
	if i := CheckCondition("counts.failed == 0", "--expect"); i != nil {
		t.Error(i)
	}
	i := CheckCondition("counts.fialed == 0", "--expect")
	if i == nil || !strings.Contains(i.Format(), "did you mean counts.failed?") || !strings.HasPrefix(i.Error(), "--expect: ") {
		t.Errorf("%v", i)
	}
}

func TestEconomy(t *testing.T) {
	for yaml, want := range map[string]string{
		"devices: 4\ncost: {per_device_hour: 2.5, currency: USD}": "",
		"cost: {per_hour: 40}":                                   "",
		"energy: {watts: 9600}":                                  "",
		"energy: {power_file: power.csv}":                        "",
		"cost: {per_device_hour: 2.5}":                           "no devices are given",
		"devices: 4\ncost: {per_device_hour: 2.5, per_hour: 40}": "keep one of the two",
		"cost: {currency: USD}":                                  "no price is given",
		"cost: {per_hour: 0}":                                    "out of range",
		"cost: {per_hour: 1e13}":                                 "out of range",
		"energy: {watts: 1e10}":                                  "out of range",
		"energy: {watts: 1, power_file: p.csv}":                  "keep one of the two",
		"cost: {per_hour: 1, currency: \"a\\nb\"}":               "cannot be shown",
	} {
		_, issues := Read(specFile(t, yaml), nil, nil)
		switch {
		case want == "" && len(issues) > 0:
			t.Errorf("%s: %v", yaml, issues)
		case want != "" && (len(issues) != 1 || !strings.Contains(issues[0].Error(), want)):
			t.Errorf("%s: %v, want %s", yaml, issues, want)
		}
	}
}
