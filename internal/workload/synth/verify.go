package synth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"tokentape/internal/workload"
)

// Difference is one thing in which a set is not what it should be.
type Difference struct {
	Row  int // -1: the set as a whole
	Text string
	Note bool // no difference, but what could not be held against the manifest
}

// Files are a set as it is found.
type Files struct {
	Rows    workload.Source
	Data    Data
	Prepare workload.Source // nil: there is none
	Seeds   Data            // of Prepare
}

// Verify holds a set against its manifest: it counts every row of the files again,
// and derives from the manifest's parameters and rows all that it says besides.
// The differences come in order, those of the whole set first.
func Verify(ctx context.Context, f Files, tok Tokenizer, m *Manifest, progress func(done, total int)) ([]Difference, error) {
	v := &verify{m: m}
	v.data("", f.Data, m.Data)
	if m.Prepare != nil && f.Prepare != nil {
		v.data("preparation: ", f.Seeds, *m.Prepare)
	}
	same := true
	if tok.SHA256() != m.Tokenizer.SHA256 {
		same = false
		v.whole("tokenizer %s has SHA-256 %.12s…, the manifest's (%s) has %.12s…", tok.Name(), tok.SHA256(), m.Tokenizer.Name, m.Tokenizer.SHA256)
	}
	if tok.Template() != m.Tokenizer.Template {
		same = false
		v.whole("chat template %q, the manifest says %q", orNone(tok.Template()), orNone(m.Tokenizer.Template))
	}
	if same { // what follows from the parameters is of that tokenizer
		v.params(ctx, f, tok)
	}
	size := max(m.Params.PageSize, 1)
	tree := newTree(size)
	if m.Prepare != nil {
		if f.Prepare == nil {
			v.whole("the preparation requests (%s) are missing, which the manifest names", m.Prepare.File)
		} else {
			err := ordered(ctx, int(f.Prepare.Len()), func(i int) counting { return count(f.Prepare, tok, i, size) }, func(_ int, c counting) error {
				tree.add(c.pages, c.templated)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	err := ordered(ctx, f.Data.Rows, func(i int) counting { return count(f.Rows, tok, i, size) }, func(i int, c counting) error {
		cached := tree.add(c.pages, c.templated)
		if i < len(m.Rows) {
			want := m.Rows[i]
			if c.sha256 != want.SHA256 {
				v.row(i, "SHA-256 of the row %.12s…, the manifest says %.12s…: the row was changed", c.sha256, want.SHA256)
			}
			v.differ(i, "content tokens", c.content, want.Content)
			v.differ(i, "templated tokens", c.templated, want.Templated)
			v.differ(i, "output tokens", c.output, want.Output)
			if m.Prepare == nil || f.Prepare != nil { // else it follows from what is missing
				v.differ(i, "expected cached tokens", cached, want.Expected)
			}
		}
		if progress != nil {
			progress(i+1, f.Data.Rows)
		}
		return nil
	})
	return append(v.all, v.rows...), err
}

// verify gathers differences.
type verify struct {
	m         *Manifest
	all, rows []Difference
}

func (v *verify) whole(format string, args ...any) {
	v.all = append(v.all, Difference{Row: -1, Text: fmt.Sprintf(format, args...)})
}

func (v *verify) note(format string, args ...any) {
	v.whole(format, args...)
	v.all[len(v.all)-1].Note = true
}

func (v *verify) row(i int, format string, args ...any) {
	v.rows = append(v.rows, Difference{Row: i, Text: fmt.Sprintf(format, args...)})
}

func (v *verify) differ(row int, what string, got, want int) {
	if got != want {
		v.row(row, "%s: %d, the manifest says %d", what, got, want)
	}
}

// data holds a file against what the manifest says of it.
func (v *verify) data(of string, got, want Data) {
	if got.SHA256 != want.SHA256 {
		v.whole("%sSHA-256 %.12s…, the manifest says %.12s…: the file was changed", of, got.SHA256, want.SHA256)
	}
	if got.Rows != want.Rows {
		v.whole("%s%d rows, the manifest says %d", of, got.Rows, want.Rows)
	}
	if got.Bytes != want.Bytes {
		v.whole("%s%d bytes, the manifest says %d", of, got.Bytes, want.Bytes)
	}
	if name := filepath.Base(got.File); got.File != "" && want.File != "" && name != want.File {
		v.note("%sthe manifest calls it %s", of, want.File)
	}
}

// remade is how many rows of a set are made again.
const remade = 5

// remake makes some rows again, the first and the last among them, and holds them
// against the file: what the parameters say of text (seed, salt, kind) shows in nothing
// else, and dataset build --resalt builds on it.
func (v *verify) remake(ctx context.Context, f Files, b *Builder, tok Tokenizer) {
	n := b.Rows()
	if int64(n) != f.Rows.Len() {
		return // said already
	}
	for k := range min(remade, n) {
		if ctx.Err() != nil {
			return
		}
		i := 0
		if n > 1 {
			i = k * (n - 1) / (min(remade, n) - 1)
		}
		item, err := f.Rows.Item(int64(i))
		if err != nil {
			return // said where rows are counted
		}
		as := func(b *Builder) bool {
			r := b.row(i)
			return r.err == nil && (r.facts.SHA256 == item.Ref.SHA256 || r.facts.SHA256 == v.m.Rows[i].SHA256)
		}
		if as(b) {
			continue
		}
		p, what := v.m.Params, ""
		for _, kind := range []string{KindPlain, KindCopy} {
			if kind == p.Kind {
				continue
			}
			other := p
			other.Kind = kind
			if o, err := lay(other, tok); err == nil && as(o) {
				what = fmt.Sprintf("params.kind: the manifest says %s, the rows are those of %s", p.Kind, kind)
			}
		}
		if what == "" {
			what = fmt.Sprintf("params.seed %d and params.salt %d do not make the rows of the file", p.Seed, p.Salt)
		}
		v.whole("%s (made again: row %d of %d differs): a set built of this manifest would be another", what, i, n)
		return
	}
}

// params derives from the parameters what each row is to be, and from the rows
// the summary.
func (v *verify) params(ctx context.Context, files Files, tok Tokenizer) {
	m := v.m
	b, err := lay(m.Params, tok)
	var gone *fs.PathError
	switch {
	case errors.As(err, &gone):
		v.note("not held against its parameters, which name a file that cannot be read: %v", err)
		return
	case err != nil:
		v.whole("params: no set can be built of them: %v", err)
		return
	}
	if err := b.SameFiles(m); err != nil {
		v.note("not held against its parameters: %v", err)
		return
	}
	says := func(what string, got, want any) {
		if got != want {
			v.whole("%s: the manifest says %v, its parameters make it %v", what, want, got)
		}
	}
	says("data.rows", b.Rows(), m.Data.Rows)
	says("tokenizer.before", b.before, m.Tokenizer.Before)
	says("tokenizer.after", b.after, m.Tokenizer.After)
	says("prepare", b.s.Prepare, m.Prepare != nil)
	sum := b.tally()
	if m.Prepare != nil && b.s.Prepare {
		groups := 0
		for _, n := range b.longest {
			if n > 0 {
				groups++
			}
		}
		says("prepare.rows", groups, m.Prepare.Rows)
		sum.before = groups
	}
	if b.Rows() != len(m.Rows) {
		return // which row is which is not known
	}
	for i, f := range m.Rows {
		x := b.shapes[i]
		told := func(what string, got, want any) {
			if got != want {
				v.row(i, "%s: the manifest says %v, its parameters make it %v", what, want, got)
			}
		}
		g, _ := sum.add(i, f)
		told("row", i, f.Row)
		told("group", x.group, f.Group)
		told("first_touch", g.First, f.First)
		if b.s.LengthOf == OfTemplated {
			told("templated", x.target, f.Templated)
		} else {
			told("content", x.target, f.Content)
		}
		if x.output > 0 || b.s.Kind != KindCopy { // that of a copy is its passage's
			told("output", x.output, f.Output)
		}
	}
	v.summary(sum.end(), m.Summary)
	v.remake(ctx, files, b, tok)
}

// summary names each sum that is not that of the rows.
func (v *verify) summary(got, want Summary) {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	type fact struct{ name, got, want string }
	facts := []fact{
		{"planned_cached", whole(got.Planned), whole(want.Planned)},
		{"expected_cached", whole(got.Expected), whole(want.Expected)},
		{"expected_share", exact(got.ExpectedShare), exact(want.ExpectedShare)},
		{"expected_repeat_share", exact(got.RepeatShare), exact(want.RepeatShare)},
		{"first_touches", whole(int64(got.FirstTouches)), whole(int64(want.FirstTouches))},
	}
	for _, s := range []struct {
		name      string
		got, want Span
	}{{"content", got.Content, want.Content}, {"templated", got.Templated, want.Templated}, {"output", got.Output, want.Output}} {
		facts = append(facts,
			fact{s.name + ".min", whole(int64(s.got.Min)), whole(int64(s.want.Min))},
			fact{s.name + ".mean", exact(s.got.Mean), exact(s.want.Mean)},
			fact{s.name + ".max", whole(int64(s.got.Max)), whole(int64(s.want.Max))},
			fact{s.name + ".sum", whole(s.got.Sum), whole(s.want.Sum)})
	}
	for _, f := range facts {
		if f.got != f.want {
			v.whole("summary.%s: the manifest says %s, its rows make it %s", f.name, f.want, f.got)
		}
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// counting is what one row counts.
type counting struct {
	content, templated, output int
	sha256                     string
	pages                      []uint32
	err                        error
}

func (c counting) fault() error { return c.err }

func count(src workload.Source, tok Tokenizer, i, size int) (c counting) {
	item, err := src.Item(int64(i))
	if err != nil {
		c.err = err
		return c
	}
	content, ids, err := countItem(tok, item)
	if err != nil {
		c.err = err
		return c
	}
	c.content, c.templated, c.output = content, len(ids), int(item.OutputLen)
	c.sha256, c.pages = item.Ref.SHA256, pages(ids, size)
	return c
}
