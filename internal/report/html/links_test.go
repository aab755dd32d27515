package html

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// A link of a cell moves with it when columns without anything are left out.
func TestTrimLinks(t *testing.T) {
	x := table{Head: []string{"a", "b", "c", "d"}, Text: 1}
	x.Rows = append(x.Rows, []string{"r0", "1", "", "3"})
	x.add([]string{"r1", "1", "", "3"}, []string{"", "b", "c", "d"})
	x.add([]string{"r2", "1", "", "3"}, []string{"", "B"})
	x = x.trim()
	for _, c := range []struct {
		row, column int
		want        string
	}{{0, 1, ""}, {0, 9, ""}, {1, 1, "b"}, {1, 2, "d"}, {2, 1, "B"}, {2, 2, ""}, {3, 0, ""}} {
		if got := x.Link(c.row, c.column); got != c.want {
			t.Errorf("row %d, column %d leads to %q, want %q", c.row, c.column, got, c.want)
		}
	}
}

// Links are JSON whatever the names in them are, and stay within their attribute.
func TestLinkText(t *testing.T) {
	links := regexp.MustCompile(`data-go="([^"]*)"`)
	for _, s := range hostile {
		page := body(render(t, filled(s), "en"))
		n := 0
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			text := strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+", "&amp;", "&").Replace(m[1])
			if !strings.HasPrefix(text, "{") {
				continue
			}
			n++
			var v map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &v); err != nil || len(v) != 1 {
				t.Errorf("%q: link %s: %v", s, text, err)
			}
		}
		if n < 10 {
			t.Errorf("%q: %d links", s, n)
		}
	}
}

// Nothing leads to no rows.
func TestCounted(t *testing.T) {
	if got := counted(0, rowsLink{Window: "whole"}); got != "" {
		t.Errorf("0 leads to %s", got)
	}
	if got, want := counted(3, rowsLink{Window: "whole"}), `{"rows":{"window":"whole","n":3}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Readings are sought of the row itself, else of the counters that it is made of, on its
// own page.
func TestReadingsLink(t *testing.T) {
	part := int64(1)
	r := &analysis.Results{
		Server: &analysis.Server{Lines: []analysis.ServerLine{{Source: "a", Name: "queue_depth"}, {Source: "b", Part: &part, Name: "kv_usage"}}},
		Charts: &analysis.Charts{Counts: []analysis.ServerCount{{Source: "a", Name: "cached_tokens"}, {Source: "a", Name: "prompt_tokens"}}},
	}
	for _, c := range []struct {
		source string
		part   *int64
		name   string
		want   string
	}{
		{"a", nil, "queue_depth", `{"readings":{"page":"a","names":["queue_depth"],"window":"w"}}`},
		{"b", nil, "queue_depth", ""},
		{"b", &part, "kv_usage", `{"readings":{"page":"b","part":1,"names":["kv_usage"],"window":"w"}}`},
		{"b", nil, "kv_usage", ""},
		{"a", nil, "cached_share", `{"readings":{"page":"a","names":["cached_tokens","prompt_tokens"],"window":"w"}}`},
		{"a", nil, "accept_rate", ""},
	} {
		if got := readings(r, &analysis.ServerWindow{Window: "w", Source: c.source, Part: c.part}, c.name); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.name, c.source, got, c.want)
		}
	}
}
