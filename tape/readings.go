package tape

import (
	"fmt"
	"maps"
	"strings"
)

// Reading is a whole reading of a metrics page, put together from a Scrape and
// those before it. Its maps are good until the next Take of the same source, and
// must not be changed.
type Reading struct {
	Role, Kind string
	Series     map[string]float64
	Types      map[string]string // by family

	nr int64
}

// Readings puts the readings of all sources of a tape together, in the order of
// its lines. The zero value is ready.
type Readings struct {
	of map[pageKey]*Reading
}

// pageKey tells the pages of a merged tape's parts apart.
type pageKey struct {
	part   int64
	source string
}

// Take is the whole reading that s is, nil where s is not OK. Its error says that
// lines before s are missing: values are not known until the next whole reading,
// and every Take before that one gives the error again.
func (r *Readings) Take(s *Scrape) (*Reading, error) {
	if !s.OK {
		return nil, nil
	}
	key := pageKey{s.Part.Or(0), s.Source}
	have := r.of[key]
	if !s.Same.OK {
		have = &Reading{Role: s.Role, Kind: s.Kind, Series: maps.Clone(s.Series), Types: maps.Clone(s.Types), nr: s.Nr}
		if r.of == nil {
			r.of = map[pageKey]*Reading{}
		}
		r.of[key] = have
		return have, nil
	}
	if have == nil || have.nr != s.Nr-1 {
		delete(r.of, key)
		return nil, fmt.Errorf("source %s: reading %d, which the one of t = %d ns goes on from, is missing", s.Source, s.Nr-1, s.T)
	}
	have.nr = s.Nr
	for _, name := range s.Gone {
		delete(have.Series, name)
	}
	same := int64(len(have.Series))
	if have.Series == nil {
		have.Series = map[string]float64{}
	}
	for name, v := range s.Series {
		if _, ok := have.Series[name]; ok {
			same--
		}
		have.Series[name] = v
	}
	if same != s.Same.V {
		delete(r.of, key)
		return nil, fmt.Errorf("source %s: reading %d does not go with the one before: %d series are said to be as they were, there are %d", s.Source, s.Nr, s.Same.V, same)
	}
	if s.Kind != "" {
		have.Kind = s.Kind
	}
	if have.Types == nil && len(s.Types) > 0 {
		have.Types = map[string]string{}
	}
	maps.Copy(have.Types, s.Types)
	return have, nil
}

// Family is the family of a series (as Series is keyed) and its type; a family
// whose type the page does not say is "untyped".
func (r *Reading) Family(series string) (family, typ string) {
	name, _, _ := strings.Cut(series, "{")
	if t, ok := r.Types[name]; ok {
		return name, t
	}
	for _, end := range []string{"_bucket", "_sum", "_count", "_gsum", "_gcount", "_created"} {
		if base, ok := strings.CutSuffix(name, end); ok {
			switch t := r.Types[base]; t {
			case "histogram", "summary", "gaugehistogram":
				return base, t
			}
		}
	}
	return name, "untyped"
}
