package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// tableRows reads the Markdown table between <!-- name --> and <!-- /name --> in
// ARCHITECTURE.md: cells without backticks, header and rule left out.
func tableRows(t *testing.T, name string) [][]string {
	t.Helper()
	b, err := os.ReadFile(root + "/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "<!-- "+name+" -->")
	text, _, ok2 := strings.Cut(rest, "<!-- /"+name+" -->")
	if !ok || !ok2 {
		t.Fatalf("ARCHITECTURE.md has no table between <!-- %s --> and <!-- /%s -->", name, name)
	}
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(c), "`", ""))
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("the table %s of ARCHITECTURE.md is empty", name)
	}
	return rows[2:]
}

// names splits a cell: "a, b" is two, "–" is none.
func names(cell string) []string {
	if cell == "–" || cell == "" {
		return nil
	}
	parts := strings.Split(cell, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// Every import between rooms stands in the table, every room has a row, and
// every row a room.
func TestArrows(t *testing.T) {
	allowed := map[string][]string{}
	for _, cells := range tableRows(t, "arrows") {
		if len(cells) != 3 || cells[2] == "" {
			t.Errorf("arrow table: a row needs room, may import, why: %q", cells)
			continue
		}
		if _, twice := allowed[cells[0]]; twice {
			t.Errorf("arrow table: %s stands there twice", cells[0])
		}
		allowed[cells[0]] = names(cells[1])
	}
	exists := map[string]bool{}
	for _, p := range list(t) {
		exists[room(p.ImportPath)] = true
	}
	for r, to := range allowed {
		if !exists[r] {
			t.Errorf("arrow table: there is no room %s", r)
		}
		for _, x := range to {
			if x != "*" && !exists[x] {
				t.Errorf("arrow table: %s may import %s, which does not exist", r, x)
			}
		}
	}
	for _, p := range list(t) {
		from := room(p.ImportPath)
		may, ok := allowed[from]
		if !ok {
			t.Errorf("%s has no row in the arrow table of ARCHITECTURE.md", from)
			continue
		}
		used := map[string]bool{}
		for _, i := range p.Imports {
			if i != module && !strings.HasPrefix(i, module+"/") {
				continue
			}
			to := room(i)
			used[to] = true
			if to == "cli" && from != "cmd/tokentape" {
				t.Errorf("%s imports cli; nobody but cmd/tokentape may", from)
				continue
			}
			if !slices.Contains(may, to) && !slices.Contains(may, "*") {
				t.Errorf("%s imports %s, which the arrow table of ARCHITECTURE.md does not allow; move the code, or add the arrow with its reason in the same commit", from, to)
			}
		}
		for _, to := range may {
			if to != "*" && !used[to] {
				t.Logf("arrow table: %s → %s is not used", from, to)
			}
		}
	}
}

// Rooms that name their outside libraries import no others.
func TestLibraries(t *testing.T) {
	limits := map[string][]string{}
	for _, cells := range tableRows(t, "libraries") {
		limits[cells[0]] = names(cells[1])
	}
	for _, p := range list(t) {
		may, limited := limits[room(p.ImportPath)]
		delete(limits, room(p.ImportPath))
		if !limited {
			continue
		}
		for _, i := range p.Imports {
			first, _, _ := strings.Cut(i, "/")
			if !strings.Contains(first, ".") { // standard library or this module
				continue
			}
			if !slices.ContainsFunc(may, func(m string) bool { return i == m || strings.HasPrefix(i, m+"/") }) {
				t.Errorf("%s imports %s; ARCHITECTURE.md limits it to the standard library and %v", room(p.ImportPath), i, may)
			}
		}
	}
	for r := range limits {
		t.Errorf("library table: there is no room %s", r)
	}
}
