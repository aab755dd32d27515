package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunNotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	os.WriteFile(file, []byte("notes: {cards: 8, server_commit: 1a2b3c, scenario: 'chat: long', api_key: sk-planted, url: 'http://u:pw-planted@h/x?token=t-planted'}"), 0o600)
	s, issues := Read(file, nil, []Set{
		{Path: "notes.cards", Value: "16", Origin: "--note cards=16"}, {Path: "notes.a.b", Value: "c: d", Origin: "--note a.b=c: d"},
	})
	if Failed(issues) {
		t.Fatal(issues)
	}
	want := map[string]string{"cards": "16", "server_commit": "1a2b3c", "scenario": "chat: long", "a.b": "c: d", "api_key": "***", "url": "http://***@h/x?token=***"}
	if d := cmp.Diff(want, s.Masked().Notes); d != "" {
		t.Error(d)
	}
	for _, hush := range []string{"sk-planted", "pw-planted", "t-planted"} {
		if all := strings.Join(s.Secrets(), "\n"); !strings.Contains(all, hush) {
			t.Errorf("Secrets lacks %s: %q", hush, all)
		}
		if strings.Contains(string(s.YAML())+string(s.JSON()), hush) {
			t.Errorf("%s is shown:\n%s", hush, s.YAML())
		}
	}
	again, issues := read(t, string(s.YAML()), nil)
	if Failed(issues) {
		t.Fatal(issues)
	}
	if d := cmp.Diff(want, again.Notes); d != "" {
		t.Errorf("read back: %s", d)
	}
}

func TestBadNotes(t *testing.T) {
	for in, want := range map[string]string{
		"notes: [a]":                          "notes",
		"notes: a":                            "notes",
		"notes: {a: [1]}":                     "notes.a",
		`notes: {a: "x\ny"}`:                  "line end",
		`notes: {a: "\u001b[2J"}`:             "cannot be printed",
		`notes: {" a": x}`:                    "name of a note",
		"notes: {a: " + many("x", 1001) + "}": "1001 characters",
		"notes: {" + many("x", 101) + ": a}":  "name of a note",
	} {
		file := filepath.Join(t.TempDir(), "s.yaml")
		os.WriteFile(file, []byte(in), 0o600)
		_, issues := Read(file, nil, nil)
		var all []string
		for _, i := range issues {
			all = append(all, i.Error())
		}
		if text := strings.Join(all, "\n"); !Failed(issues) || !strings.Contains(text, want) {
			t.Errorf("%.40s: %s, want %q", in, text, want)
		}
	}
}

func many(s string, n int) string { return strings.Repeat(s, n) }
