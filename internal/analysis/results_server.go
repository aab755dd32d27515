package analysis

import "iter"

// Server is what the server says of itself on its metrics pages, as far as they
// were read. Rows are those of the catalogue's server.NAME.
type Server struct {
	Sources []ServerSource `json:"sources"` // pages, by part and name
	Windows []ServerWindow `json:"windows"` // of each window and page
	Lines   []ServerLine   `json:"lines"`   // gauges over time

	// Points are the gauges in full, Series all series of the pages; never in
	// results.json.
	Points ServerPoints    `json:"-"`
	Series ServerAnySeries `json:"-"`
}

// ServerSource is one metrics page.
type ServerSource struct {
	Name      string           `json:"name"`
	Part      *int64           `json:"part,omitempty"`      // of a merged tape
	Role      string           `json:"role,omitempty"`      // prefill, decode, entry …
	RoleFrom  string           `json:"role_from,omitempty"` // absent: as the spec says; "page": its series say it (engine_type); "name": its name begins with it
	Kind      string           `json:"kind,omitempty"`      // what publishes it: sglang, vllm …
	IntervalS *float64         `json:"interval_s"`          // asked for
	Readings  int64            `json:"readings"`
	Failed    int64            `json:"failed"`
	Missed    int64            `json:"missed"` // ticks of the interval without a reading, since the one before was not over
	Causes    map[string]int64 `json:"causes,omitempty"`
	Example   string           `json:"example,omitempty"` // error of the first that failed
	FromS     *float64         `json:"from_s"`            // first reading
	ToS       *float64         `json:"to_s"`              // last reading
	Gaps      []ServerGap      `json:"gaps,omitempty"`    // the first hundred
	GapsN     int64            `json:"gaps_n"`
	GapsS     float64          `json:"gaps_s"`           // in all
	Resets    []ServerReset    `json:"resets,omitempty"` // the first hundred
	ResetsN   int64            `json:"resets_n"`
	Restarts  int64            `json:"restarts"` // of these, those of a process that began anew
	SeriesN   int64            `json:"series_n"`
	Warnings  []string         `json:"warnings,omitempty"`
}

// ServerGap is a time without a reading of a page, longer than two intervals.
type ServerGap struct {
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
	Why   string  `json:"why"`
}

// ServerReset is a reading in which counters began anew.
type ServerReset struct {
	TS       float64 `json:"t_s"`
	Counters int64   `json:"counters"` // that fell
	Anew     bool    `json:"anew"`     // the process behind the page is another one
	Why      string  `json:"why"`
}

// ServerWindow is what one page says of one window. Values are of the time that
// its readings cover: from the first at or after the window's begin to the last
// at or before its end.
type ServerWindow struct {
	Window   string      `json:"window"`
	Source   string      `json:"source"`
	Part     *int64      `json:"part,omitempty"`
	FromS    *float64    `json:"from_s"` // first and last reading in it
	ToS      *float64    `json:"to_s"`
	LengthS  float64     `json:"length_s"`  // of the window
	CoveredS float64     `json:"covered_s"` // of it, by readings
	Readings int64       `json:"readings"`
	Gaps     int64       `json:"gaps"`
	Resets   int64       `json:"resets"`
	Why      string      `json:"why,omitempty"` // why there is nothing
	Rows     []ServerRow `json:"rows"`
}

// ServerRow is a named row of one page in one window. Absent is null: of a gauge
// there is no increase, of a counter no mean.
type ServerRow struct {
	Name   string `json:"name"` // queue_depth …, in the catalogue as server.queue_depth
	Type   string `json:"type"` // "gauge", "counter", "histogram", "ratio"
	Unit   string `json:"unit"`
	Series string `json:"series"`   // what the page calls it
	Of     int64  `json:"series_n"` // how many series make it up
	N      int64  `json:"n"`        // readings that had it

	Mean     *float64 `json:"mean"` // of a gauge over time; of a histogram sum ÷ count
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Last     *float64 `json:"last"`
	Increase *float64 `json:"increase"`
	PerS     *float64 `json:"per_s"`
	Resets   int64    `json:"resets,omitempty"`

	Histogram *ServerHistogram `json:"histogram,omitempty"`
	Warnings  []string         `json:"warnings,omitempty"`
}

// ServerHistogram is what a histogram counted in the time covered, beside what the
// client measured in the same time.
type ServerHistogram struct {
	N         float64                  `json:"n"` // observations
	Quantiles map[string]ServerBounded `json:"quantiles"`
	// Counts says what an observation is, and how it differs from the client's.
	Counts string        `json:"counts,omitempty"`
	Client *ServerClient `json:"client,omitempty"`
	// Difference is client − server: of the mean, and of quantiles with the bounds
	// that the server's leave.
	DifferenceMean *float64                 `json:"difference_mean"`
	Difference     map[string]ServerBounded `json:"difference,omitempty"`
}

// ServerBounded is a quantile between the bounds of its bucket: value by linear
// interpolation, null where there is no upper bound.
type ServerBounded struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// ServerClient is what the client measured of the same.
type ServerClient struct {
	N         int64               `json:"n"`
	Of        string              `json:"of"` // which requests
	Mean      *float64            `json:"mean"`
	Quantiles map[string]*float64 `json:"quantiles"`
	Metric    string              `json:"metric,omitempty"` // "tpot" beside a server's ITL; absent: the same metric
}

// ServerLine is a gauge over time: at most 600 points, each of one reading or of
// several as their mean, least and greatest.
type ServerLine struct {
	Source string    `json:"source"`
	Part   *int64    `json:"part,omitempty"`
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Series string    `json:"series"`
	T      []float64 `json:"t_s"`
	Value  []float64 `json:"value"`
	Min    []float64 `json:"min,omitempty"` // absent where every point is one reading of one value
	Max    []float64 `json:"max,omitempty"`
}

// ServerSeries is one series of a page over the whole run, named or not; or, with
// Window, at the first and the last reading in it.
type ServerSeries struct {
	Source   string
	Part     *int64
	Window   string
	Name     string
	Type     string   // as the page says: "counter", "gauge" …, "untyped"
	N        *int64   // readings that gave it anew; nil in a window
	First    *float64 // nil: not there
	Last     *float64
	Min, Max *float64
	Increase *float64 // of a counter
	Resets   *int64
}

// ServerAnySeries are all series of the pages, made when they are asked for: those in
// windows are read off the tape a second time. The zero value holds none.
type ServerAnySeries struct {
	each func(f func(ServerSeries)) error
}

// Each calls f with every series, over the run and then by window. A tape that was
// read from a pipe has no second reading and those over the run alone. The error is
// of the second reading.
func (a ServerAnySeries) Each(f func(ServerSeries)) error {
	if a.each == nil {
		return nil
	}
	return a.each(f)
}

// SeriesOf are series that exist already.
func SeriesOf(all []ServerSeries) ServerAnySeries {
	return ServerAnySeries{func(f func(ServerSeries)) error {
		for _, x := range all {
			f(x)
		}
		return nil
	}}
}

// ServerPoint is one reading of a gauge.
type ServerPoint struct {
	Source     string
	Part       *int64
	Name, Unit string
	Series     string
	TS, Value  float64
}

// ServerPoints are the gauges of all readings, made when they are asked for. The
// zero ServerPoints holds none.
type ServerPoints struct {
	each func(yield func(ServerPoint) bool)
}

// All yields every point: page by page, row by row, in order of time.
func (p ServerPoints) All() iter.Seq[ServerPoint] {
	if p.each == nil {
		return func(func(ServerPoint) bool) {}
	}
	return p.each
}

// ServerCached is what the server's own counters say of its prefix cache.
type ServerCached struct {
	Ratio          float64 // cached ÷ prompt tokens, both as they grew in the time covered
	Cached, Prompt float64
	Sources        []string // pages that were added up
	Roleless       bool     // several were, of which some have no known role
	CoveredS       float64  // the least that one of them covers
	Resets         int64
}

// Cached is the share of prompt tokens that the prefix cache had in a window, by
// the counters of the server's metrics pages: cached_tokens ÷ prompt_tokens, or
// hits ÷ queries of the cache where a page has no such counter. Pages are added
// up, but those of decode workers where there are pages of prefill workers or of
// the entry, since both count the same prompts; and where there is a page of the
// entry, it alone. False: no page says.
func (s *Server) Cached(window string) (ServerCached, bool) {
	var out ServerCached
	if s == nil {
		return out, false
	}
	role := func(source string, part *int64) string {
		for _, x := range s.Sources {
			if x.Name == source && (x.Part == nil) == (part == nil) && (part == nil || *x.Part == *part) {
				return x.Role
			}
		}
		return ""
	}
	type page struct {
		w              *ServerWindow
		role           string
		cached, prompt float64
		resets         int64
	}
	var pages []page
	have := map[string]bool{}
	for i := range s.Windows {
		w := &s.Windows[i]
		if w.Window != window {
			continue
		}
		for _, pair := range [][2]string{{"cached_tokens", "prompt_tokens"}, {"cache_hits", "cache_queries"}} {
			a, b := w.Row(pair[0]), w.Row(pair[1])
			if a == nil || b == nil || a.Increase == nil || b.Increase == nil || *b.Increase <= 0 {
				continue
			}
			p := page{w, role(w.Source, w.Part), *a.Increase, *b.Increase, a.Resets + b.Resets}
			have[p.role] = true
			pages = append(pages, p)
			break
		}
	}
	for _, p := range pages {
		if have["entry"] && p.role != "entry" || have["prefill"] && p.role == "decode" {
			continue
		}
		out.Cached, out.Prompt, out.Resets = out.Cached+p.cached, out.Prompt+p.prompt, out.Resets+p.resets
		if len(out.Sources) == 0 || p.w.CoveredS < out.CoveredS {
			out.CoveredS = p.w.CoveredS
		}
		out.Sources = append(out.Sources, p.w.Source)
		out.Roleless = out.Roleless || p.role == ""
	}
	out.Roleless = out.Roleless && len(out.Sources) > 1
	if out.Prompt <= 0 {
		return out, false
	}
	out.Ratio = out.Cached / out.Prompt
	return out, true
}

// Row is the row of that name, nil where the page does not say.
func (w *ServerWindow) Row(name string) *ServerRow {
	for i := range w.Rows {
		if w.Rows[i].Name == name {
			return &w.Rows[i]
		}
	}
	return nil
}
