package rows

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPartIsSkipAndLimit: what a Part gives is what a Source with that skip and limit
// gives, whatever the filter and the bad rows, so that the spec of a point that was
// dealt rows reads the same ones again.
func TestPartIsSkipAndLimit(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		for i := range rapid.IntRange(1, 30).Draw(rt, "rows") {
			switch rapid.IntRange(0, 5).Draw(rt, "kind") {
			case 0:
				fmt.Fprintf(&b, "{\"question\":7,\"split\":\"a\",\"n\":%d}\n", i) // no text: bad
			case 1:
				fmt.Fprintf(&b, "{\"question\":\"b %d\",\"split\":\"b\",\"n\":%d}\n", i, i)
			default:
				fmt.Fprintf(&b, "{\"question\":\"a %d\",\"split\":\"a\",\"n\":%d}\n", i, i)
			}
		}
		n++
		w := write(t, fmt.Sprintf("d%d.jsonl", n), b.String())
		w.Dataset.OnBadRow = "skip"
		if rapid.Bool().Draw(rt, "filter") {
			w.Dataset.Filter = map[string]any{"split": "a"}
		}
		w.Dataset.Skip = int64(rapid.IntRange(0, 3).Draw(rt, "skip"))
		whole, err := Open(w, 1, nil)
		if err != nil {
			return // no row is left
		}
		defer whole.Close()
		first := rapid.Int64Range(0, whole.Len()-1).Draw(rt, "first")
		count := rapid.Int64Range(1, whole.Len()-first).Draw(rt, "count")
		part, err := whole.Part(first, count)
		if err != nil {
			rt.Fatal(err)
		}
		w.Dataset.Skip, w.Dataset.Limit = whole.Place(first), count
		again, err := Open(w, 1, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer again.Close()
		if part.Len() != again.Len() {
			rt.Fatalf("%d items, and %d", part.Len(), again.Len())
		}
		for i := range count {
			x, err := part.Item(i)
			if err != nil {
				rt.Fatal(err)
			}
			y, err := again.Item(i)
			if err != nil || x.Prompt != y.Prompt || x.Ref != y.Ref || part.Where(i) != again.Where(i) {
				rt.Fatalf("item %d: %q %+v, and %q %+v (%v)", i, x.Prompt, x.Ref, y.Prompt, y.Ref, err)
			}
		}
	})
}

func TestPartRefuses(t *testing.T) {
	s, _, err := open(t, "{\"question\":\"a\"}\n{\"question\":\"b\"}\n", "{question}", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]int64{{-1, 1}, {0, 0}, {0, 3}, {2, 1}, {1, 1 << 62}} {
		if _, err := s.Part(c[0], c[1]); err == nil {
			t.Errorf("%v: a part of 2 rows", c)
		}
	}
	p, err := s.Part(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Item(1); err == nil {
		t.Error("an item past the end of a part")
	}
}
