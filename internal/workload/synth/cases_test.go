package synth

import (
	"hash/fnv"
	"strings"
	"testing"
)

// splitting is a tokenizer whose ids do not survive decoding and encoding: words
// of one token each, two of which are three in company now and then: one pair in
// 400, too few for the choice of words to keep clear of.
var splitting = fake{name: "splitting", before: 2, after: 2, cost: func(w, prev string) int {
	if splits(prev, w) {
		return 2
	}
	return 1
}}

func splits(prev, w string) bool {
	h := fnv.New32a()
	h.Write([]byte(prev + " " + w))
	return prev != "" && h.Sum32()%400 == 1
}

// C08: 1,024 tokens are asked of a tokenizer by which two ids side by side become
// three when their text is read again. Every prompt counts exactly 1,024 as it is
// sent, alone and in its template, and the manifest records it; where no text does
// (a tokenizer of two tokens a word), a bounded number of rounds ends with the
// nearest lengths, and nothing is written. Token ids as a row's prompt go out as they
// are (TestBody of the dialects), so that nothing is read again.
func TestC08ReadAgain(t *testing.T) {
	for _, of := range []string{OfContent, OfTemplated} {
		p := Defaults()
		p.Requests, p.Input, p.LengthOf, p.Seed = 64, "1024", of, 8
		b := mustBuild(t, p, splitting)
		drifted := 0 // rows that would be too long if tokens were only laid side by side
		for i, q := range questions(t, b.data) {
			content := len(splitting.Content(nil, q))
			ids, err := splitting.Prompt(nil, user(q))
			if err != nil {
				t.Fatal(err)
			}
			got := content
			if of == OfTemplated {
				got = len(ids)
			}
			if f := b.Rows[i]; got != 1024 || f.Content != content || f.Templated != len(ids) {
				t.Errorf("%s, row %d: %d, %d with the template; the manifest says %+v", of, i, content, len(ids), f)
			}
			if content > len(strings.Fields(q)) {
				drifted++
			}
		}
		if drifted < 48 {
			t.Errorf("%d of 64 rows hold words that split: the test proves nothing", drifted)
		}
	}

	reads := 0
	odd := fake{name: "odd", before: 1, after: 1, cost: func(_, prev string) int {
		if prev == "" {
			reads++ // a text is read from its start
		}
		return 2
	}}
	p := Defaults()
	p.Requests, p.Input = 1, "1025"
	_, err := build(t, p, odd)
	if err == nil || !strings.Contains(err.Error(), "counts exactly 1025 content tokens; the nearest are 1024 and 1026") {
		t.Errorf("%v", err)
	}
	// Each round reads a text alone and in its template; the vocabulary is measured
	// before, a few readings a word.
	vocabulary := 0
	reads, vocabulary = 0, reads
	p.Input = "1026"
	mustBuild(t, p, odd)
	if extra := vocabulary - reads; extra < 2 || extra > 2*rounds {
		t.Errorf("%d readings more than for a length that can be had; %d rounds are allowed", extra, rounds)
	}
}
