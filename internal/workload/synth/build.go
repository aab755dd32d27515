package synth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
)

// row is a finished row on its way to the file.
type row struct {
	line  []byte // with its end
	facts RowFacts
	pages []uint32
	err   error
}

// Write makes the rows, counts each again as it is finished, and writes them as
// JSON lines; prepare gets the requests that seed the cache, and may be nil when
// Params.Prepare is not set. progress may be nil. The manifest it returns lacks
// the names of the files. Prompts of any number pass through a few at a time.
func (b *Builder) Write(ctx context.Context, out, prepare io.Writer, progress func(done, total int)) (*Manifest, error) {
	m := &Manifest{
		Schema: ManifestSchema, Params: b.s.Params, Files: b.files(), Notes: b.notes,
		Tokenizer: TokenizerRef{Name: b.tok.Name(), SHA256: b.tok.SHA256(), Template: b.tok.Template(), Before: b.before, After: b.after},
	}
	tree := newTree(b.s.PageSize)
	sum := b.tally()
	if b.s.Prepare {
		data, err := b.writePrepare(ctx, prepare, tree)
		if err != nil {
			return nil, err
		}
		m.Prepare, sum.before = data, data.Rows
	}
	w := &counted{w: out, sum: sha256.New()}
	m.Rows = make([]RowFacts, 0, len(b.shapes))
	fixed := b.fixed()
	err := ordered(ctx, len(b.shapes), b.row, func(i int, r row) error {
		f := r.facts
		f.Expected = tree.add(r.pages, f.Templated)
		f, planned := sum.add(i, f)
		if fixed && f.Expected != planned {
			return fmt.Errorf("row %d would find %d of its tokens in the cache, not %d: %s", i, f.Expected, planned,
				"prompts share more than they should; use more --prefix-groups, fewer --requests or a larger --page-size")
		}
		m.Rows = append(m.Rows, f)
		if progress != nil {
			progress(i+1, len(b.shapes))
		}
		_, err := w.Write(r.line)
		return err
	})
	if err != nil {
		return nil, err
	}
	m.Data = w.data(len(b.shapes))
	m.Summary = sum.end()
	return m, nil
}

// fixed reports that what each row finds in the cache is known without the
// prompts: it can be held against them.
func (b *Builder) fixed() bool {
	for i := range b.cached {
		if b.cached[i] != b.cached[0] {
			return b.s.Prepare && b.corpus == nil
		}
	}
	return true
}

// planned is what row i is meant to find in the cache.
func (b *Builder) planned(i int, first, later bool) int {
	if b.cached[i] > 0 && !first {
		return b.cached[i]
	}
	if later {
		return b.before / b.s.PageSize * b.s.PageSize // the template's own pages
	}
	return 0
}

// firstTouch: nothing before row i, apart from the template, is like it.
func (b *Builder) firstTouch(i int, seen []bool) bool {
	g := b.shapes[i].group
	if g < 0 {
		return true
	}
	was := seen[g] || b.s.Prepare
	seen[g] = true
	return !was
}

// tally adds the rows of a set up, in their order.
type tally struct {
	b      *Builder
	before int // requests of preparation
	seen   []bool
	sum    Summary
	repeat int64 // tokens of rows that are no first touch
	hits   int64 // expected of those
}

func (b *Builder) tally() *tally { return &tally{b: b, seen: make([]bool, b.s.Groups)} }

// add fills in what of row i follows from the parameters, and gives what it is
// meant to find in the cache.
func (t *tally) add(i int, f RowFacts) (RowFacts, int) {
	f.First = t.b.firstTouch(i, t.seen)
	planned := t.b.planned(i, f.First, t.before+i > 0)
	s := &t.sum
	s.Content.add(f.Content, i)
	s.Templated.add(f.Templated, i)
	s.Output.add(f.Output, i)
	s.Expected += int64(f.Expected)
	if f.First {
		s.FirstTouches++
	} else {
		s.Planned += int64(planned)
		t.repeat += int64(f.Templated)
		t.hits += int64(f.Expected)
	}
	return f, planned
}

func (t *tally) end() Summary {
	s := t.sum
	s.ExpectedShare = float64(s.Expected) / float64(s.Templated.Sum)
	if t.repeat > 0 {
		s.RepeatShare = float64(t.hits) / float64(t.repeat)
	}
	return s
}

// writePrepare writes one request a group, which holds all that its rows share.
func (b *Builder) writePrepare(ctx context.Context, out io.Writer, t *tree) (*Data, error) {
	if out == nil {
		return nil, errors.New("a set seeded by preparation requests needs a place for them")
	}
	var groups []int
	for g, n := range b.longest {
		if n > 0 {
			groups = append(groups, g)
		}
	}
	w := &counted{w: out, sum: sha256.New()}
	err := ordered(ctx, len(groups), func(i int) row {
		text := b.prefix(groups[i], b.longest[groups[i]])
		return b.finish(row{}, string(text), 1)
	}, func(i int, r row) error {
		t.add(r.pages, r.facts.Templated)
		_, err := w.Write(r.line)
		return err
	})
	if err != nil {
		return nil, err
	}
	d := w.data(len(groups))
	return &d, nil
}

// rounds bounds how often the text of a row is made again until it counts right.
const rounds = 24

// row makes row i.
func (b *Builder) row(i int) row {
	x := b.shapes[i]
	r := row{facts: RowFacts{Row: i, Group: x.group}}
	var lead []byte
	content := x.target
	if b.s.LengthOf == OfTemplated {
		content -= b.before + b.after
	}
	want := content // tokens of running text still to come
	if t := b.cached[i]; t > 0 {
		lead = b.prefix(x.group, t)
		want -= t - b.before
	}
	lead, cost := b.voc.name(lead, b.order, x.member, b.digits)
	want -= cost
	ahead := content - want // tokens of lead
	want -= b.suffixCost

	n, variant, below, above := want, 0, 0, 0
	seen := map[int]bool{}
	for range rounds {
		text := b.fill(lead[:len(lead):len(lead)], "row", i, variant, n)
		output := x.output
		if output == 0 && b.s.Kind == KindCopy {
			output = max(ahead+n, 1)
		}
		text = append(text, b.suffix...)
		if r = b.finish(r, string(text), output); r.err != nil {
			return r
		}
		got := r.facts.Content
		if b.s.LengthOf == OfTemplated {
			got = r.facts.Templated
		}
		switch {
		case got == x.target:
			return r
		case got < x.target:
			below = max(below, got)
		case above == 0 || got < above:
			above = got
		}
		seen[n] = true
		if n += x.target - got; n < 0 || seen[n] {
			variant++ // other words
			n = max(want, 0) + variant%3
			clear(seen)
		}
	}
	near := strconv.Itoa(below)
	switch {
	case above > 0 && below > 0:
		near += " and " + strconv.Itoa(above)
	case above > 0:
		near = strconv.Itoa(above)
	}
	r.err = fmt.Errorf("row %d: no text of tokenizer %s was found that counts exactly %d %s tokens; the nearest are %s",
		i, b.tok.Name(), x.target, b.s.LengthOf, near)
	return r
}

// finish counts a text and makes it a line.
func (b *Builder) finish(r row, text string, output int) row {
	ids := b.tok.Content(nil, text)
	r.facts.Content, r.facts.Output = len(ids), output
	if ids, r.err = b.tok.Prompt(ids[:0], user(text)); r.err != nil {
		return r
	}
	r.facts.Templated = len(ids)
	r.pages = pages(ids, b.s.PageSize)
	r.line, r.err = line(text, output)
	sum := sha256.Sum256(bytes.TrimSuffix(r.line, []byte("\n")))
	r.facts.SHA256 = hex.EncodeToString(sum[:])
	return r
}

func line(text string, output int) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(len(text) + 64)
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Question  string `json:"question"`
		MaxTokens int    `json:"max_tokens,omitempty"`
	}{text, output})
	return buf.Bytes(), err
}

// ordered makes n things on all processors and hands them on in order; a few
// finished ones wait at most. The first fault ends it.
func ordered[T interface{ fault() error }](ctx context.Context, n int, make1 func(i int) T, take func(i int, v T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	type job struct {
		i    int
		done chan T
	}
	jobs := make(chan job)
	queue := make(chan job, workers)
	defer func() { // no goroutine outlives the call
		cancel()
		for range queue {
		}
	}()
	for range workers {
		go func() {
			for j := range jobs {
				j.done <- make1(j.i)
			}
		}()
	}
	go func() {
		defer close(queue)
		defer close(jobs)
		for i := range n {
			j := job{i, make(chan T, 1)}
			select {
			case queue <- j:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return
			}
		}
	}()
	i := 0
	for j := range queue {
		select {
		case v := <-j.done:
			if err := v.fault(); err != nil {
				return err
			}
			if err := take(j.i, v); err != nil {
				return err
			}
			i++
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if i < n {
		return context.Cause(ctx)
	}
	return nil
}

func (r row) fault() error { return r.err }

// counted hashes and counts what passes.
type counted struct {
	w   io.Writer
	sum hash.Hash
	n   int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.sum.Write(p[:n])
	c.n += int64(n)
	return n, err
}

func (c *counted) data(rows int) Data {
	return Data{Bytes: c.n, Rows: rows, SHA256: hex.EncodeToString(c.sum.Sum(nil))}
}

// Name sets the names of the files in a manifest.
func (m *Manifest) Name(data, prepare string) {
	m.Data.File = filepath.Base(data)
	if m.Prepare != nil {
		m.Prepare.File = filepath.Base(prepare)
	}
}
