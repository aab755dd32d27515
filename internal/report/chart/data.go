package chart

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/report/html"
)

// data is the page's document, read as data.js reads it, and what of Results it holds.
type data struct {
	Untold bool
	Time   *struct {
		First, Last float64
		grid
		Rates  grid
		Tokens grid
		Series map[string][]float64
	}
	Latency []struct {
		Metric string
		grid
		P50, P90, P99 []*float64
	}
	Dists    []analysis.Distribution
	ByInput  []analysis.LengthGroup `json:"by_input"`
	ByCached []analysis.LengthGroup `json:"by_cached"`
	Client   map[string][]*float64
	Windows  []string
	Rows     int
	Columns  []html.Column
	Defs     map[string]struct{ Title string }
	Words    map[string][2]string

	results  *analysis.Results
	language int // which of Words
	columns  map[string][]float64
	words    map[string][]string
	kept     []int
}

// read makes the document and reads it. Errors: those of html.Document.
func read(r *analysis.Results, lang string) (*data, error) {
	var packed bytes.Buffer
	if err := html.Document(&packed, r, lang); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(flate.NewReader(&packed))
	if err != nil {
		return nil, fmt.Errorf("reading the data of the charts: %w", err)
	}
	n := binary.LittleEndian.Uint32(raw[4:])
	d := &data{results: r, columns: map[string][]float64{}, words: map[string][]string{}}
	if err := json.Unmarshal(raw[8:8+n], d); err != nil {
		return nil, fmt.Errorf("reading the data of the charts: %w", err)
	}
	d.language = max(0, slices.Index(html.Languages(), lang))
	d.unpack(raw[8+n:])
	return d, nil
}

// unpack reads the columns: see html.Column.
func (d *data) unpack(raw []byte) {
	stored := map[string][]float64{}
	for _, c := range d.Columns {
		whole, out := make([]float64, c.Rows), make([]float64, c.Rows)
		last := int64(0)
		for i := range c.Rows {
			u := uint64(0)
			for k := range c.Planes {
				u |= uint64(raw[k*c.Rows+i]) << (8 * k)
			}
			if u == 0 {
				whole[i], out[i] = math.NaN(), math.NaN()
				continue
			}
			u--
			v := int64(u>>1) ^ -int64(u&1)
			if c.Delta {
				v += last
				last = v
			}
			whole[i] = float64(v)
			if c.Base != "" && !math.IsNaN(stored[c.Base][i]) {
				whole[i] += stored[c.Base][i]
			}
			out[i] = whole[i] / float64(c.Per)
		}
		raw = raw[c.Planes*c.Rows:]
		d.columns[c.Name], d.words[c.Name], stored[c.Name] = out, c.Words, whole
	}
}

// column is a column of the rows, nil where the run has none.
func (d *data) column(name string) []float64 { return d.columns[name] }

// word is what row i has in a column of words, "" where it has none.
func (d *data) word(name string, i int) string {
	c := d.columns[name]
	if c == nil || math.IsNaN(c[i]) {
		return ""
	}
	return d.words[name][int(c[i])]
}

// measuredOK are the rows that enter statistics: ok requests of the measured phase.
func (d *data) measuredOK() []int {
	if d.kept == nil {
		d.kept = []int{}
		for i := range d.Rows {
			if d.word("phase", i) == "measure" && d.word("outcome", i) == "ok" {
				d.kept = append(d.kept, i)
			}
		}
	}
	return d.kept
}

// say is a word in the language of the charts; {0}, {1} … stand for what follows.
func (d *data) say(key string, args ...string) string {
	w, ok := d.Words[key]
	if !ok {
		return key
	}
	var pairs []string
	for i, a := range args {
		pairs = append(pairs, fmt.Sprintf("{%d}", i), a)
	}
	return strings.NewReplacer(pairs...).Replace(w[d.language])
}

// spans are those of a window; none where it does not exist.
func (d *data) spans(kind string) (out [][2]float64) {
	for i := range d.results.Windows {
		w := &d.results.Windows[i]
		if w.Kind != kind {
			continue
		}
		if w.From == nil {
			return nil
		}
		for _, s := range w.Spans {
			out = append(out, [2]float64{s.From, s.To})
		}
		if out == nil {
			out = [][2]float64{{*w.From, *w.To}}
		}
		return out
	}
	return nil
}

func values(ps []*float64) []float64 {
	out := make([]float64, len(ps))
	for i, p := range ps {
		out[i] = at(p)
	}
	return out
}

func pick(col []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for k, i := range rows {
		out[k] = col[i]
	}
	return out
}
