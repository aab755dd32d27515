package view

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/compare"
	"tokentape/internal/bundle"
	"tokentape/internal/report"
	"tokentape/internal/report/html"
	"tokentape/tape"
)

// pageName is the page in a run's folder.
const pageName = "report.html"

// mostPage bounds a page that is read from the folder: one of 250,000 requests has 8 MB.
const mostPage = 64 << 20

// source is a tape below the folder as analysis reads it: it ends when ctx does, and
// tells j how far it is.
type source struct {
	*tape.Reader
	x   *index
	rel string
	ctx context.Context
	j   *job
}

// openTape opens a tape; name is what messages call it.
func (x *index) openTape(rel, name string, j *job) (*tape.Reader, error) {
	f, err := x.open(rel)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r, err := tape.FromFile(f, name)
	if err != nil {
		return nil, err
	}
	r.Watch(func(done, total int64) { j.done.Store(done); j.total.Store(total) })
	return r, nil
}

func (s *source) Next() (tape.Record, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	return s.Reader.Next()
}

// Again implements analysis.Rereader.
func (s *source) Again() (analysis.Source, func() error, error) {
	r, err := s.x.openTape(s.rel, path.Base(s.rel), s.j)
	if err != nil {
		return nil, nil, err
	}
	r.Ahead(runtime.GOMAXPROCS(0))
	r.Trust()
	return &source{r, s.x, s.rel, s.ctx, s.j}, r.Close, nil
}

// analyse reads a tape as tokentape report does, with charts.
func (x *index) analyse(ctx context.Context, c candidate, j *job) (*analysis.Results, error) {
	power, err := x.power(c)
	if err != nil {
		return nil, fmt.Errorf("%s beside the tape: %w", bundle.PowerName, err)
	}
	r, err := x.openTape(c.rel, path.Base(c.rel), j)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.Ahead(runtime.GOMAXPROCS(0))
	res, err := analysis.Analyse(&source{r, x, c.rel, ctx, j}, analysis.Options{Charts: true, Power: power})
	if err != nil {
		return nil, err
	}
	x.learn(c, summarise(res))
	return res, nil
}

// power is the power series beside a tape, or in a pack; nil for none.
func (x *index) power(c candidate) (*analysis.Power, error) {
	in, err := x.beside(c, bundle.PowerName)
	if in == nil || err != nil {
		return nil, err
	}
	defer in.Close()
	return analysis.ReadPower(in)
}

// page makes the page of a run.
func (x *index) page(ctx context.Context, c candidate, j *job, lang string) ([]byte, error) {
	res, err := x.analyse(ctx, c, j)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = html.Write(&b, res, html.Options{Lang: lang})
	return b.Bytes(), err
}

// document makes the data of a run's charts.
func (x *index) document(ctx context.Context, c candidate, j *job, lang string) ([]byte, error) {
	res, err := x.analyse(ctx, c, j)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = html.Document(&b, res, lang)
	return b.Bytes(), err
}

// ready is the page in the run's folder, nil where there is none, where it is older than
// the tape or the work of another version of the program: it is then made anew.
func (x *index) ready(c candidate) []byte {
	if !c.named() {
		return nil
	}
	f, err := x.open(path.Join(path.Dir(c.rel), pageName))
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.ModTime().UnixNano() < c.tape.mtime || st.Size() > mostPage || !endsAsOurs(f, st.Size()) {
		return nil
	}
	page, err := io.ReadAll(io.LimitReader(f, mostPage))
	if err != nil || !bytes.HasPrefix(page, []byte(`<!doctype html>`)) || !html.Current(page) {
		return nil
	}
	return page
}

func endsAsOurs(f *os.File, size int64) bool {
	n := html.TailBytes()
	if size < n {
		return false
	}
	tail := make([]byte, n)
	_, err := f.ReadAt(tail, size-n)
	return err == nil && html.Current(tail)
}

// compare holds runs against the first of them.
func (x *index) compare(ctx context.Context, cs []candidate, j *job) ([]byte, error) {
	var in []compare.Input
	rel := map[string]string{}
	for i, c := range cs {
		name := shown(c.shown(), mostText)
		if _, twice := rel[name]; twice {
			name = fmt.Sprintf("%s (%d)", name, i+1)
		}
		rel[name] = c.rel
		in = append(in, compare.Input{Path: name, Tapes: []string{name}})
	}
	c, err := compare.Compare(in, compare.Options{Open: func(name string) (*tape.Reader, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return x.openTape(rel[name], name, j)
	}})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = report.CompareJSON(&b, c)
	return b.Bytes(), err
}
