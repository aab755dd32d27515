package telemetry

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// oracle reads a page by Prometheus' own parser.
func oracle(text []byte) (map[string]float64, error) {
	// The format wants a line end at the end, and not every server writes it.
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(slices.Clip(text), '\n')
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	s := make(oracleSeries)
	n := 0
	for name, family := range families {
		for _, m := range family.GetMetric() {
			n++
			s.metric(name, m)
		}
	}
	if n == 0 {
		return nil, errors.New("no metrics on the page")
	}
	return s, nil
}

type oracleSeries map[string]float64

func (s oracleSeries) metric(name string, m *dto.Metric) {
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
			labels["le"] = edge64(b.GetUpperBound())
			s.add(name+"_bucket", labels, orFloat(b.GetCumulativeCount(), b.GetCumulativeCountFloat()))
		}
	case m.Summary != nil:
		s.add(name+"_sum", labels, m.Summary.GetSampleSum())
		s.add(name+"_count", labels, float64(m.Summary.GetSampleCount()))
		for _, q := range m.Summary.GetQuantile() {
			labels["quantile"] = edge64(q.GetQuantile())
			s.add(name, labels, q.GetValue())
		}
	}
}

func (s oracleSeries) add(name string, labels map[string]string, v float64) {
	var sorted []label
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		sorted = append(sorted, label{l, labels[l]})
	}
	key := canonical(name, sorted, "")
	if delete(s, key); !math.IsNaN(v) && !math.IsInf(v, 0) {
		s[key] = v
	}
}

func orFloat(n uint64, f float64) float64 {
	if f != 0 {
		return f
	}
	return float64(n)
}
