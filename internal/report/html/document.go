package html

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
)

// DocumentSchema names the format of the data document.
const DocumentSchema = "tokentape.page/1"

// head is the part of a document that is JSON.
type head struct {
	Schema   string                  `json:"schema"`
	Run      string                  `json:"run"`
	Untold   bool                    `json:"untold,omitempty"` // streams whose token times an imported tape does not hold
	Results  json.RawMessage         `json:"results"`
	Time     *timeHead               `json:"time"`
	Latency  []latencyHead           `json:"latency"`
	Dists    []analysis.Distribution `json:"dists"`
	ByInput  []analysis.LengthGroup  `json:"by_input"`
	ByCached []analysis.LengthGroup  `json:"by_cached"`
	Failures []analysis.FailureGroup `json:"failures"`
	Client   map[string][]*number    `json:"client"`
	Counts   []analysis.ServerCount  `json:"counts,omitempty"`
	Windows  []string                `json:"windows"` // bit i of the rows' column "windows"
	Rows     int                     `json:"rows"`
	Columns  []Column                `json:"columns"`
	LeftOut  leftOut                 `json:"left_out"`
	Stall    string                  `json:"stall_rule"`
	Defs     map[string]definition   `json:"defs"`
	Words    map[string][2]string    `json:"words"`
	Lang     string                  `json:"lang"`
	Texts    *textsHead              `json:"texts,omitempty"`
}

// leftOut says what the document holds less of than the tape.
type leftOut struct {
	Stalls   int64 `json:"stalls"`
	Messages int64 `json:"messages"` // distinct ones
}

// grid is an analysis.Grid.
type grid struct {
	From  float64 `json:"from"`
	Step  float64 `json:"step"`
	N     int     `json:"n"`
	Start float64 `json:"start"`
	To    float64 `json:"to"`
}

type timeHead struct {
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	grid
	Rates  grid                `json:"rates"`
	Tokens grid                `json:"tokens"`
	Whole  int64               `json:"whole_answers"`
	Series map[string][]number `json:"series"`
}

type latencyHead struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	grid
	Count []int64   `json:"count"`
	P50   []*number `json:"p50"`
	P90   []*number `json:"p90"`
	P99   []*number `json:"p99"`
}

type definition struct {
	Title  string `json:"title"`
	Unit   string `json:"unit,omitempty"`
	Text   string `json:"text"`
	Enters string `json:"enters,omitempty"`
	Absent string `json:"absent,omitempty"`
}

// number is a value of a series: six significant digits are more than a chart shows.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return nil, fmt.Errorf("a chart holds %v", float64(n))
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 6, 64), nil
}

func numbers(vs []float64) []number {
	out := make([]number, len(vs))
	for i, v := range vs {
		out[i] = number(v)
	}
	return out
}

func pointers(vs []*float64) []*number {
	out := make([]*number, len(vs))
	for i, v := range vs {
		if v != nil {
			out[i] = (*number)(v)
		}
	}
	return out
}

// Document writes the data of a page: raw deflate of "TTPG", the length of the head
// as 4 bytes little-endian, the head as JSON, the columns (see Column) one after the
// other. Rows are in plan order. Errors: those of w, and Results that hold a NaN.
func Document(w io.Writer, r *analysis.Results, lang string) error {
	return document(w, r, lang, nil)
}

func document(w io.Writer, r *analysis.Results, lang string, texts *Texts) error {
	if err := report.Finite(r); err != nil {
		return err
	}
	h := head{
		Schema: DocumentSchema, Run: r.Run, Untold: r.Imported != "" && r.Counts.Flags["not_streamed"] == 0, Rows: r.Rows.Len(), Lang: lang, Texts: newTextsHead(texts), Words: dictionary(), Defs: definitions(r),
		// Lists, never null.
		Latency: []latencyHead{}, Dists: []analysis.Distribution{}, ByInput: []analysis.LengthGroup{}, ByCached: []analysis.LengthGroup{},
		Failures: []analysis.FailureGroup{}, Windows: []string{}, Columns: []Column{},
	}
	var results bytes.Buffer
	if err := json.Compact(&results, must(marshal(r))); err != nil {
		return err
	}
	h.Results = results.Bytes()
	for i := range r.Windows {
		h.Windows = append(h.Windows, r.Windows[i].Kind)
	}
	if c := r.Charts; c != nil {
		h.charts(c)
	}
	var p packer
	h.LeftOut.Messages = packRows(&p, r)
	if c := r.Charts; c != nil {
		packStalls(&p, c.Stalls)
	}
	h.Columns = append(h.Columns, p.columns...)
	text, err := marshal(h)
	if err != nil {
		return fmt.Errorf("writing the data of the page: %w", err)
	}
	z, err := flate.NewWriter(w, flate.DefaultCompression)
	if err != nil {
		return err
	}
	front := binary.LittleEndian.AppendUint32([]byte("TTPG"), uint32(len(text)))
	for _, b := range [][]byte{front, text, p.bytes} {
		if _, err := z.Write(b); err != nil {
			return err
		}
	}
	return z.Close()
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// must is for Results that report.Finite has passed: they encode.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func (h *head) charts(c *analysis.Charts) {
	if t := c.Time; t != nil {
		h.Time = &timeHead{First: t.First, Last: t.Last, grid: grid(t.Grid), Rates: grid(t.Rates), Tokens: grid(t.Tokens), Whole: t.WholeAnswers, Series: map[string][]number{}}
		for name, s := range map[string][]float64{
			"in_flight": t.InFlight, "in_flight_peak": t.InFlightPeak, "waiting": t.Waiting, "client_lag": t.ClientLag, "offered": t.Offered, "sent": t.Sent,
			"ended": t.Ended, "failed": t.Failed, "abandoned": t.Abandoned, "output_tokens": t.OutputTokens, "input_tokens": t.InputTokens,
		} {
			if s != nil {
				h.Time.Series[name] = numbers(s)
			}
		}
	}
	for _, l := range c.Latency {
		h.Latency = append(h.Latency, latencyHead{l.Metric, l.Unit, grid(l.Grid), l.Count, pointers(l.P50), pointers(l.P90), pointers(l.P99)})
	}
	h.Dists, h.ByInput, h.ByCached = append(h.Dists, c.Dists...), append(h.ByInput, c.ByInput...), append(h.ByCached, c.ByCached...)
	h.Failures, h.Stall = append(h.Failures, c.Failures...), c.StallRule
	h.LeftOut.Stalls = c.StallsLeftOut
	h.Counts = c.Counts
	if len(c.Client) == 0 {
		return
	}
	h.Client = map[string][]*number{}
	for _, s := range c.Client {
		put := func(name string, v *float64) { h.Client[name] = append(h.Client[name], (*number)(v)) }
		of := func(name string, v float64) { put(name, &v) }
		of("t", s.T)
		of("cpu", s.CPU)
		of("sched_p99_ms", s.SchedP99MS)
		of("gc_pause_ms", s.GCPauseMS)
		of("rss_mb", float64(s.RSS)/1e6)
		of("queue", float64(s.Queue))
		put("pacer_lag_p99_ms", s.PacerP99MS)
		put("host_cpu", s.HostCPU)
	}
}

// definitions are those of the metrics and rows that the page can show.
func definitions(r *analysis.Results) map[string]definition {
	out := map[string]definition{}
	for _, d := range analysis.Definitions() {
		switch d.Kind {
		case "metric", "system", "fact", "load", "count", "term":
			if strings.ContainsAny(d.Name, "*{") {
				continue
			}
			if _, ok := out[d.Name]; !ok { // a metric of requests comes before the row of that name
				out[d.Name] = definition{d.Title, d.Unit, d.Definition, d.Enters, d.Absent}
			} else if d.Kind == "system" {
				out["system."+d.Name] = definition{d.Title, d.Unit, d.Definition, d.Enters, d.Absent}
			}
		}
	}
	for _, name := range report.Economy(r.Windows) {
		if d, ok := analysis.DefinitionOf(name); ok {
			out[name] = definition{d.Title, d.Unit, d.Definition, d.Enters, d.Absent}
		}
	}
	return out
}
