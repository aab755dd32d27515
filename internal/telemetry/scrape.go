package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"tokentape/internal/clock"
	"tokentape/tape"
)

// Source is a server's metrics page.
type Source struct {
	Name string // as the tape names it
	URL  string // Prometheus text format
}

const (
	maxError = 300            // bytes of an error that goes on the tape
	getLimit = 10_000_000_000 // ns that a get may take: a silent server is a failed scrape, not a gap
)

// Scrape reads every source once an interval, each on its own absolute
// deadlines, the first time at once, and returns when ctx is done and every get
// has returned. One source never has two gets at the same time: where one takes
// longer than the interval, the ticks it covers are left out. get must obey its
// context, which ends after 10 s, and its errors go on the tape, so they must
// hold no secret. emit is called for one record at a time, from several goroutines. A
// scrape that ctx cut short is not emitted.
func Scrape(ctx context.Context, clk *clock.Clock, get func(ctx context.Context, url string) ([]byte, error), sources []Source, interval time.Duration, emit func(*tape.Scrape)) {
	var one sync.Mutex
	var all sync.WaitGroup
	for _, src := range sources {
		all.Go(func() {
			read := func(now int64) {
				s := scrape(ctx, clk, get, src, now)
				if ctx.Err() != nil {
					return
				}
				one.Lock()
				defer one.Unlock()
				emit(s)
			}
			if ctx.Err() == nil {
				read(clk.Now())
			}
			clk.Tick(ctx, int64(interval), read)
		})
	}
	all.Wait()
}

// scrape's T is the moment the get was begun.
func scrape(ctx context.Context, clk *clock.Clock, get func(ctx context.Context, url string) ([]byte, error), src Source, now int64) *tape.Scrape {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := fmt.Errorf("no answer within %v", time.Duration(getLimit))
	defer clk.AfterFunc(getLimit, func() { cancel(late) }).Stop()

	out := &tape.Scrape{T: now, Source: src.Name}
	body, err := get(ctx, src.URL)
	if err == nil {
		out.Series, err = Parse(body)
	} else if context.Cause(ctx) == late {
		err = late
	}
	if err != nil {
		out.Error = bounded(err.Error())
		return out
	}
	out.OK = true
	return out
}

func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxError {
		return s
	}
	return strings.ToValidUTF8(s[:maxError], "") + "…"
}

// Parse reads the Prometheus text format into series: name{a="b",c="d"} with
// the labels sorted by name, histograms and summaries as _bucket, _sum and
// _count, quantiles as a label. Values that are not finite are left out. A page
// that breaks the format anywhere, or has no series, is an error.
func Parse(text []byte) (map[string]float64, error) {
	// The format wants a line end at the end, and not every server writes it.
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(slices.Clip(text), '\n')
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w; it begins %.60q", err, text)
	}
	s := make(series)
	for name, family := range families {
		for _, m := range family.GetMetric() {
			s.metric(name, m)
		}
	}
	if len(s) == 0 {
		return nil, errors.New("no metrics on the page")
	}
	return s, nil
}

// escape is the format's own escaping of a label's value.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

type series map[string]float64

func (s series) metric(name string, m *dto.Metric) {
	labels := make(map[string]string, len(m.GetLabel())+1)
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	switch {
	case m.Gauge != nil:
		s.add(name, labels, m.Gauge.GetValue())
	case m.Counter != nil:
		s.add(name, labels, m.Counter.GetValue())
	case m.Untyped != nil:
		s.add(name, labels, m.Untyped.GetValue())
	case m.Histogram != nil:
		h := m.Histogram
		s.add(name+"_sum", labels, h.GetSampleSum())
		s.add(name+"_count", labels, orFloat(h.GetSampleCount(), h.GetSampleCountFloat()))
		for _, b := range h.GetBucket() {
			labels["le"] = formatEdge(b.GetUpperBound())
			s.add(name+"_bucket", labels, orFloat(b.GetCumulativeCount(), b.GetCumulativeCountFloat()))
		}
	case m.Summary != nil:
		s.add(name+"_sum", labels, m.Summary.GetSampleSum())
		s.add(name+"_count", labels, float64(m.Summary.GetSampleCount()))
		for _, q := range m.Summary.GetQuantile() {
			labels["quantile"] = formatEdge(q.GetQuantile())
			s.add(name, labels, q.GetValue())
		}
	}
}

func (s series) add(name string, labels map[string]string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if len(labels) > 0 {
		b := []byte(name)
		sep := byte('{')
		for _, l := range slices.Sorted(maps.Keys(labels)) {
			b = append(append(append(b, sep), l...), '=', '"')
			b = append(append(b, escape.Replace(labels[l])...), '"')
			sep = ','
		}
		name = string(append(b, '}'))
	}
	s[name] = v
}

func orFloat(n uint64, f float64) float64 {
	if f != 0 {
		return f
	}
	return float64(n)
}

// formatEdge writes a bucket's edge as Prometheus does.
func formatEdge(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
