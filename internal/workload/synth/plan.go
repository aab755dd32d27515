package synth

import (
	"context"
	"fmt"
	"math"
	"strconv"
)

// CopyMarker stands in every prompt of KindCopy; a simulated server knows such
// prompts by it.
const CopyMarker = "word for word"

// copyRequest ends a prompt of KindCopy.
const copyRequest = "\n\nRepeat the text above " + CopyMarker + ", from its first word to its last, and write nothing else."

// Builder makes one set. Everything that can be wrong with what was asked is an
// error of NewBuilder, before anything is written.
type Builder struct {
	s      settled
	tok    Tokenizer
	voc    *vocabulary
	corpus *corpus // nil: random words
	notes  []string

	before, after int    // tokens of the template around a message
	seed          uint64 // of the text
	order         []int  // of head pieces
	digits        int    // head pieces that tell the rows of a group apart
	groupDigits   int    // and groups
	suffix        string
	suffixCost    int
	shapes        []shape
	cached        []int // per row: tokens that it shares with its group; 0: none
	longest       []int // per group: the most of them; 0: no row
	drift         []int // per group: correction of the prefix's length
}

// NewBuilder settles what is to be built with a tokenizer.
func NewBuilder(p Params, tok Tokenizer) (*Builder, error) {
	b, err := lay(p, tok)
	if err != nil {
		return nil, err
	}
	return b, b.measurePrefixes()
}

// lay is a Builder that knows what each row is to be, and not yet how its text is
// made.
func lay(p Params, tok Tokenizer) (*Builder, error) {
	s, err := p.settle()
	if err != nil {
		return nil, err
	}
	b := &Builder{s: s, tok: tok, seed: scramble(s.Seed ^ scramble(s.Salt))}
	if b.voc, err = newVocabulary(tok); err != nil {
		return nil, err
	}
	if p.From != "" {
		if b.corpus, err = readCorpus(p.From, tok); err != nil {
			return nil, err
		}
		if b.corpus.cut {
			b.notes = append(b.notes, fmt.Sprintf("of %s the first %d MiB are used", p.From, maxCorpus>>20))
		}
	}
	if err := b.measureTemplate(); err != nil {
		return nil, err
	}
	if p.LengthOf == OfTemplated && tok.Template() == "" {
		b.notes = append(b.notes, fmt.Sprintf("no chat template: a prompt counts the %d tokens that the tokenizer itself puts around a text", b.before+b.after))
	}
	b.order = stream(b.seed, "heads", 0).Perm(len(b.voc.head))
	if p.Kind == KindCopy {
		b.suffix = copyRequest
		count := counter(tok)
		w := b.voc.body[0].text
		b.suffixCost = count(w+b.suffix) - count(w)
	}
	b.shapes = s.shapes()
	members := 0
	for _, x := range b.shapes {
		members = max(members, x.member+1)
	}
	b.digits, b.groupDigits = b.voc.digits(members), b.voc.digits(s.Groups)
	return b, b.plan()
}

// measureTemplate finds how many tokens stand before and behind a message: what
// two prompts begin with alike, and what is left.
func (b *Builder) measureTemplate() error {
	v := b.voc
	one, two := v.head[0].text, v.body[0].text
	x, err := b.tok.Prompt(nil, user(one))
	if err != nil {
		return fmt.Errorf("chat template: %w", err)
	}
	y, err := b.tok.Prompt(nil, user(two))
	if err != nil {
		return fmt.Errorf("chat template: %w", err)
	}
	b.before = common(x, y)
	around := len(x) - counter(b.tok)(one)
	if around < 0 {
		return fmt.Errorf("chat template: a message of %q counts more alone than in its prompt", one)
	}
	b.before = min(b.before, around)
	b.after = around - b.before
	return nil
}

// Around is how many tokens of a prompt stand before and behind the message.
func (b *Builder) Around() (before, after int) { return b.before, b.after }

// Rows is the number of rows.
func (b *Builder) Rows() int { return len(b.shapes) }

// actual is the length of row i as the server counts it, when the template adds
// the same to every message.
func (b *Builder) actual(i int) int {
	if b.s.LengthOf == OfTemplated {
		return b.shapes[i].target
	}
	return b.shapes[i].target + b.before + b.after
}

func headCost(v *vocabulary) int {
	most := 1
	for _, p := range v.head {
		most = max(most, p.cost)
	}
	return most
}

// plan settles how many tokens each row shares with its group.
func (b *Builder) plan() error {
	b.cached = make([]int, len(b.shapes))
	b.longest = make([]int, b.s.Groups)
	b.drift = make([]int, b.s.Groups)
	own := b.digits*headCost(b.voc) + b.suffixCost // tokens a row needs behind what it shares
	size := b.s.PageSize
	for i := range b.shapes {
		least := own
		if b.s.cached() {
			least += 1
		}
		if b.s.LengthOf == OfTemplated {
			least += b.before + b.after
		}
		if b.shapes[i].target < least {
			return fmt.Errorf("row %d asks %d %s tokens: no such prompt reaches that; the nearest length is %d (%s)",
				i, b.shapes[i].target, b.s.LengthOf, least, b.least())
		}
	}
	if !b.s.cached() {
		return nil
	}
	low := (b.before + b.groupDigits*headCost(b.voc) + size - 1) / size * size
	var sum, total int64
	for i := range b.shapes {
		n := b.actual(i)
		high := (n - b.after - own) / size * size
		if high < low {
			return fmt.Errorf("row %d of %d tokens has no whole page of %d tokens to share behind the template's %d and before its own %d: use a smaller --page-size or a longer --input",
				i, n, size, b.before, own+b.after)
		}
		t := b.s.CachedTokens
		if b.s.share >= 0 {
			t = int(math.Round(b.s.share*float64(n)/float64(size))) * size
			t = min(max(t, low), high)
		} else if t%size != 0 || t < low || t > high {
			return fmt.Errorf("--cached-tokens %d of row %d (%d tokens with the template): a cache with pages of %d tokens can hold %d to %d of them, in steps of %d; the nearest is %d",
				t, i, n, size, low, high, size, min(max((t+size/2)/size*size, low), high))
		}
		b.cached[i] = t
		sum, total = sum+int64(t), total+int64(n)
		if g := b.shapes[i].group; t > b.longest[g] {
			b.longest[g] = t
		}
	}
	if b.s.share >= 0 {
		got := float64(sum) / float64(total)
		if round(got, b.s.digits) != round(b.s.share, b.s.digits) {
			return fmt.Errorf("--cache-share %s is not reachable with --page-size %d: %s", b.s.CacheShare, size, b.nearestShares(low, sum, total))
		}
	}
	return nil
}

func (b *Builder) least() string {
	s := fmt.Sprintf("%d for words that tell the prompts apart", b.digits*headCost(b.voc))
	if b.s.LengthOf == OfTemplated {
		s += fmt.Sprintf(", %d of the template", b.before+b.after)
	}
	if b.suffixCost > 0 {
		s += fmt.Sprintf(", %d that ask for the copy", b.suffixCost)
	}
	if b.s.cached() {
		s += ", 1 to share"
	}
	return s
}

func round(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

// nearestShares names what can be had instead.
func (b *Builder) nearestShares(low int, sum, total int64) string {
	n, same := b.actual(0), true
	for i := range b.shapes {
		same = same && b.actual(i) == n
	}
	if !same {
		return fmt.Sprintf("over these lengths the nearest is %s; write --cache-share %s, or use a smaller page",
			round(float64(sum)/float64(total), 6), round(float64(sum)/float64(total), 4))
	}
	size := b.s.PageSize
	at := int(b.s.share*float64(n)) / size * size
	high := (n - b.after - b.digits*headCost(b.voc) - b.suffixCost) / size * size
	text := fmt.Sprintf("of %d tokens with the template the nearest are ", n)
	lo, hi := min(max(at, low), high), min(max(at+size, low), high)
	text += fmt.Sprintf("%s (--cached-tokens %d)", round(float64(lo)/float64(n), 6), lo)
	if hi != lo {
		text += fmt.Sprintf(" and %s (--cached-tokens %d)", round(float64(hi)/float64(n), 6), hi)
	}
	return text
}

// measurePrefixes corrects prefixes whose pieces count otherwise in company.
// Random words of one token each need none.
func (b *Builder) measurePrefixes() error {
	if b.corpus == nil && b.voc.unit {
		return nil
	}
	return ordered(context.Background(), len(b.longest), b.measurePrefix, func(int, drifted) error { return nil })
}

type drifted struct{ err error }

func (d drifted) fault() error { return d.err }

// measurePrefix corrects the prefix of group g until two rows share what they
// should. It touches nothing of other groups.
func (b *Builder) measurePrefix(g int) drifted {
	t := b.longest[g]
	if t == 0 {
		return drifted{}
	}
	near := 0
	for range 8 {
		text := b.prefix(g, t)
		var ids [2][]uint64
		for k := range ids {
			row, _ := b.voc.name(text[:len(text):len(text)], b.order, k, 1)
			var err error
			if ids[k], err = b.tok.Prompt(nil, user(string(row))); err != nil {
				return drifted{err}
			}
		}
		got := common(ids[0], ids[1])
		if got == t {
			return drifted{}
		}
		b.drift[g] += t - got
		near = got
	}
	return drifted{fmt.Errorf("no text of tokenizer %s was found that lets prompts share exactly %d tokens; the nearest is %d", b.tok.Name(), t, near)}
}

// prefix is the text that the rows of a group share, up to token t of the
// prompt. A shorter one is the beginning of a longer one, as far as pieces go.
func (b *Builder) prefix(g, t int) []byte {
	text, cost := b.voc.name(nil, b.order, g, b.groupDigits)
	n := t - b.before + b.drift[g] - cost
	return b.fill(text, "prefix", g, 0, n)
}

// fill appends n tokens of running text, of the corpus or of random words.
func (b *Builder) fill(text []byte, purpose string, i, variant, n int) []byte {
	r := stream(b.seed+uint64(variant), purpose, i)
	if b.corpus != nil {
		text, n = b.corpus.add(text, r, n)
	}
	return b.voc.add(text, r, n)
}
