package html

import "unicode/utf8"

// Bounds of the prompts and answers that a page holds when it is asked to.
const (
	// TextHead and TextTail are how many characters of a longer text are kept, of its
	// beginning and of its end, where a prompt often says what it wants.
	TextHead, TextTail = 1500, 500
	// MostTexts bounds of how many requests there are texts.
	MostTexts = 5000
)

// Texts are prompts and answers, which a page holds only when it is asked to. They are
// text to it, whatever they are.
type Texts struct {
	// Of are the texts of rows by their place in Results.Rows.
	Of map[int][]Text
	// LeftOut is how many requests have none here, since there are too many of them.
	LeftOut int64
	// Notes say which texts there are not, why, and what to do about it.
	Notes []string
}

// Text is one text of a request.
type Text struct {
	Kind string // TextPrompt …
	Head string // its beginning; all of it where Tail is ""
	Tail string // its end
	Size int    // characters of the whole
}

// Kinds of Text.
const (
	TextPrompt    = "prompt"
	TextAnswer    = "answer"
	TextReasoning = "reasoning"
	TextTools     = "tools"
)

// NewText cuts a text to what a page has room for.
func NewText(kind, s string) Text {
	t := Text{Kind: kind, Head: s, Size: utf8.RuneCountInString(s)}
	if t.Size <= TextHead+TextTail {
		return t
	}
	n := 0
	for i := range s {
		if n == TextHead {
			t.Head = s[:i]
		}
		if n == t.Size-TextTail {
			t.Tail = s[i:]
			break
		}
		n++
	}
	return t
}

// Take returns every how manieth of n requests Texts are to hold, at least 1.
func Take(n int) int { return max(1, (n+MostTexts-1)/MostTexts) }

// textsHead is Texts in a document.
type textsHead struct {
	Of      map[int][][]any `json:"of"` // kind, characters of the whole, beginning, end
	LeftOut int64           `json:"left_out"`
	Notes   []string        `json:"notes"`
}

func newTextsHead(t *Texts) *textsHead {
	if t == nil {
		return nil
	}
	h := &textsHead{Of: map[int][][]any{}, LeftOut: t.LeftOut, Notes: append([]string{}, t.Notes...)}
	for row, list := range t.Of {
		for _, x := range list {
			one := []any{x.Kind, x.Size, x.Head}
			if x.Tail != "" {
				one = append(one, x.Tail)
			}
			h.Of[row] = append(h.Of[row], one)
		}
	}
	return h
}
