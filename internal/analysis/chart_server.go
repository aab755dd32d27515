package analysis

// ServerCount is a counter, or the observations of a histogram, of a metrics page as it
// grew since the first reading: what increases, rates and means of the windows are made
// of. It is at most 600 readings, evenly chosen.
type ServerCount struct {
	Source string    `json:"source"`
	Part   *int64    `json:"part,omitempty"`
	Name   string    `json:"name"` // as of ServerRow
	Series string    `json:"series"`
	T      []float64 `json:"t_s"`
	N      []float64 `json:"n"`             // grown; observations of a histogram
	Sum    []float64 `json:"sum,omitempty"` // of these, in the unit of the row
}

// serverCounts are those of all pages.
func (r *run) serverCounts() []ServerCount {
	var out []ServerCount
	for _, p := range r.scrapes.Sources() {
		for _, c := range p.Counts(serverPoints) {
			x := ServerCount{Source: p.Name, Part: r.partOf(p), Name: c.Row.Name, Series: c.Series, N: c.N, Sum: c.Sum}
			for _, t := range c.T {
				x.T = append(x.T, float64(t)/1e9)
			}
			out = append(out, x)
		}
	}
	return out
}
