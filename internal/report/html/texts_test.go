package html

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tokentape/internal/analysis"
)

// A text is whole up to what there is room for, and beyond it its beginning, its end and
// its size in characters.
func TestNewText(t *testing.T) {
	for _, unit := range []string{"a", "長", "🤖", "\u202e", "\xff", "</script>"} {
		for _, n := range []int{0, 1, TextHead + TextTail, TextHead + TextTail + 1, 200_000} {
			whole := strings.Repeat(unit, n)
			size := utf8.RuneCountInString(whole)
			got := NewText(TextPrompt, whole)
			if got.Size != size {
				t.Errorf("%d of %q: size %d, want %d", n, unit, got.Size, size)
			}
			if size <= TextHead+TextTail {
				if got.Head != whole || got.Tail != "" {
					t.Errorf("%d of %q is cut", n, unit)
				}
				continue
			}
			if !strings.HasPrefix(whole, got.Head) || utf8.RuneCountInString(got.Head) != TextHead || !strings.HasSuffix(whole, got.Tail) || utf8.RuneCountInString(got.Tail) != TextTail {
				t.Errorf("%d of %q: %d characters of the beginning, %d of the end", n, unit, utf8.RuneCountInString(got.Head), utf8.RuneCountInString(got.Tail))
			}
		}
	}
}

func TestTake(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1: 1, MostTexts: 1, MostTexts + 1: 2, 250_000: 50} {
		if got := Take(n); got != want {
			t.Errorf("of %d requests every %dth, want %d", n, got, want)
		}
	}
}

// Prompts and answers are on the page when they are given, only in its data, and change
// nothing of its elements.
func TestTexts(t *testing.T) {
	page := func(texts *Texts) string {
		var b strings.Builder
		if err := Write(&b, &analysis.Results{Rows: analysis.RowsOf([]analysis.Row{{Seq: 7}})}, Options{Texts: texts}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	without := page(nil)
	if h, _ := unpack(t, data(t, without)); h.Texts != nil {
		t.Errorf("texts unasked: %+v", h.Texts)
	}
	for _, s := range append(hostile, strings.Repeat("</script>長", 100_000)) {
		with := page(&Texts{Of: map[int][]Text{0: {NewText(TextPrompt, s), NewText(TextAnswer, s)}}, LeftOut: 3, Notes: []string{s}})
		if body(with) != body(without) || tags(with) != tags(without) {
			t.Errorf("%.40q changes the page", s)
		}
		h, _ := unpack(t, data(t, with))
		if h.Texts.LeftOut != 3 || len(h.Texts.Of[0]) != 2 || h.Texts.Of[0][1][0] != TextAnswer {
			t.Fatalf("%.40q: %+v", s, h.Texts)
		}
		want := NewText(TextPrompt, strings.ToValidUTF8(s, "\ufffd"))
		if len(want.Tail) == 0 && strings.ToValidUTF8(h.Texts.Of[0][0][2].(string), "\ufffd") != s && utf8.ValidString(s) {
			t.Errorf("%q became %q", s, h.Texts.Of[0][0][2])
		}
		if len(want.Tail) > 0 && (h.Texts.Of[0][0][2] != want.Head || h.Texts.Of[0][0][3] != want.Tail || h.Texts.Of[0][0][1] != float64(want.Size)) {
			t.Errorf("%.40q… was cut otherwise", s)
		}
	}
}
