package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// vocabulary are pieces of text whose token counts add up, as far as a tokenizer
// has such pieces.
type vocabulary struct {
	head, body []piece // apart, so that no head begins as a body goes on
	sep        string  // before every piece but the first of a text
	unit       bool    // every piece is one token
	reach      []bool  // reach[n]: body pieces can add up to n tokens
}

type piece struct {
	text string
	cost int // tokens it adds
}

// plainWords are tried where a tokenizer has too few words of one token.
var plainWords = strings.Fields(`the and that with from they have this which were when your said there what can out other
about many then them these some her would make like him into time has look two more write see number way could people`)

// mostPieces is enough for a first token of its own for every prompt of most
// sets, and small enough to stay in the tokenizer's cache of pieces.
const mostPieces = 4096

// newVocabulary finds pieces of one token each: words, else single letters; else
// words of whatever they cost.
func newVocabulary(tok Tokenizer) (*vocabulary, error) {
	count := counter(tok)
	if v := unitPieces(tok.Words(), " ", count, 64); v != nil {
		return v, nil
	}
	letters := strings.Split("abcdefghijklmnopqrstuvwxyz0123456789", "")
	if v := unitPieces(letters, "", count, 12); v != nil {
		return v, nil
	}
	v := &vocabulary{sep: " "}
	base := count("the") // of any text that ends with a word
	for i, w := range append(plainWords, letters...) {
		c := count("the "+w) - base
		if c < 1 || count("the "+w+" "+w) != base+2*c {
			continue
		}
		if p := (piece{w, c}); i%2 == 0 {
			v.head = append(v.head, p)
		} else {
			v.body = append(v.body, p)
		}
	}
	if len(v.head) < 2 || len(v.body) < 2 {
		return nil, fmt.Errorf("tokenizer %s: its token counts do not add up word by word, so no prompt of a given length can be made with it", tok.Name())
	}
	v.reachable()
	return v, nil
}

func counter(tok Tokenizer) func(string) int {
	var ids []uint64
	return func(s string) int {
		ids = tok.Content(ids[:0], s)
		return len(ids)
	}
}

// unitPieces keeps the words that are one token each, alone and after another,
// nil when they are fewer than least or do not add up in company.
func unitPieces(words []string, sep string, count func(string) int, least int) *vocabulary {
	var unit []piece
	for _, w := range words {
		if count(w) != 1 {
			continue
		}
		lead := w
		if len(unit) > 0 {
			lead = unit[len(unit)-1].text
		}
		if count(lead+sep+w) == 2 {
			if unit = append(unit, piece{w, 1}); len(unit) == mostPieces {
				break
			}
		}
	}
	if sep == "" {
		unit = apart(unit, count)
	}
	if len(unit) < least {
		return nil
	}
	v := &vocabulary{sep: sep, unit: true}
	for i, p := range unit {
		if i%2 == 0 {
			v.head = append(v.head, p)
		} else {
			v.body = append(v.body, p)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for range 256 {
		b = v.write(b, unit[r.IntN(len(unit))])
	}
	if count(string(b)) != 256 {
		return nil
	}
	v.reachable()
	return v
}

// apart keeps pieces of which no two become one token.
func apart(unit []piece, count func(string) int) (out []piece) {
next:
	for _, p := range unit {
		for _, q := range append(out, p) {
			if count(p.text+q.text) != 2 || count(q.text+p.text) != 2 {
				continue next
			}
		}
		out = append(out, p)
	}
	return out
}

func (v *vocabulary) reachable() {
	most := 1
	for _, p := range v.body {
		most = max(most, p.cost)
	}
	// Beyond the square of the dearest piece whatever can be reached repeats.
	v.reach = make([]bool, 2*most*most+2*most+1)
	v.reach[0] = true
	for n := range v.reach {
		for _, p := range v.body {
			if n >= p.cost && v.reach[n-p.cost] {
				v.reach[n] = true
				break
			}
		}
	}
}

func (v *vocabulary) write(b []byte, p piece) []byte {
	if len(b) > 0 {
		b = append(b, v.sep...)
	}
	return append(b, p.text...)
}

// add appends random pieces of n tokens in sum to b, or of as many below n as
// pieces can reach.
func (v *vocabulary) add(b []byte, r *rand.Rand, n int) []byte {
	for n > 0 {
		p := v.body[r.IntN(len(v.body))]
		for k := 0; !v.fits(n, p); k++ {
			if k == len(v.body) {
				n-- // nothing fits exactly
				k = 0
				if n == 0 {
					return b
				}
			}
			p = v.body[k]
		}
		b = v.write(b, p)
		n -= p.cost
	}
	return b
}

func (v *vocabulary) fits(n int, p piece) bool {
	rest := n - p.cost
	return rest >= len(v.reach) || rest >= 0 && v.reach[rest]
}

// digits is how many head pieces name each of n things apart.
func (v *vocabulary) digits(n int) int {
	d := 1
	for have := len(v.head); have < n; have *= len(v.head) {
		d++
	}
	return d
}

// name appends the d head pieces that stand for thing i, in an order of pieces
// that order gives, and says what they cost. The first differs between
// neighbours.
func (v *vocabulary) name(b []byte, order []int, i, d int) (text []byte, cost int) {
	for range d {
		p := v.head[order[i%len(order)]]
		b, cost = v.write(b, p), cost+p.cost
		i /= len(order)
	}
	return b, cost
}
