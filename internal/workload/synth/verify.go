package synth

import (
	"context"
	"fmt"

	"tokentape/internal/workload"
)

// Difference is one thing in which a set is not what it should be.
type Difference struct {
	Row  int // -1: the set as a whole
	Text string
}

// Verify counts every row of a set again and holds it against its manifest. data
// describes the file; prepare are the requests that seed the cache, nil when the
// set has none. The differences come in order, those of the whole set first.
func Verify(ctx context.Context, src workload.Source, data Data, prepare workload.Source, tok Tokenizer, m *Manifest, progress func(done, total int)) ([]Difference, error) {
	var out []Difference
	whole := func(format string, args ...any) {
		out = append(out, Difference{-1, fmt.Sprintf(format, args...)})
	}
	differ := func(row int, what string, got, want int) {
		if got != want {
			out = append(out, Difference{row, fmt.Sprintf("%s: %d, the manifest says %d", what, got, want)})
		}
	}
	if data.SHA256 != m.Data.SHA256 {
		whole("SHA-256 %.12s…, the manifest says %.12s…: the file was changed", data.SHA256, m.Data.SHA256)
	}
	if data.Rows != m.Data.Rows {
		whole("%d rows, the manifest says %d", data.Rows, m.Data.Rows)
	}
	if tok.SHA256() != m.Tokenizer.SHA256 {
		whole("tokenizer %s has SHA-256 %.12s…, the manifest's (%s) has %.12s…", tok.Name(), tok.SHA256(), m.Tokenizer.Name, m.Tokenizer.SHA256)
	}
	if tok.Template() != m.Tokenizer.Template {
		whole("chat template %q, the manifest says %q", orNone(tok.Template()), orNone(m.Tokenizer.Template))
	}
	size := max(m.Params.PageSize, 1)
	tree := newTree(size)
	if m.Prepare != nil {
		if prepare == nil {
			whole("the preparation requests (%s) are missing, which the manifest names", m.Prepare.File)
		} else {
			err := ordered(ctx, int(prepare.Len()), func(i int) counting { return count(prepare, tok, i, size) }, func(_ int, c counting) error {
				tree.add(c.pages, c.templated)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	err := ordered(ctx, data.Rows, func(i int) counting { return count(src, tok, i, size) }, func(i int, c counting) error {
		cached := tree.add(c.pages, c.templated)
		if i < len(m.Rows) {
			want := m.Rows[i]
			if c.sha256 != want.SHA256 {
				out = append(out, Difference{i, fmt.Sprintf("SHA-256 of the row %.12s…, the manifest says %.12s…: the row was changed", c.sha256, want.SHA256)})
			}
			differ(i, "content tokens", c.content, want.Content)
			differ(i, "templated tokens", c.templated, want.Templated)
			differ(i, "output tokens", c.output, want.Output)
			differ(i, "expected cached tokens", cached, want.Expected)
		}
		if progress != nil {
			progress(i+1, data.Rows)
		}
		return nil
	})
	return out, err
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
