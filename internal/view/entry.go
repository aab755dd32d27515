package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/bundle"
	"tokentape/internal/secret"
	"tokentape/tape"
)

// States of an Entry.
const (
	StateFit    = "fit"
	StateUnfit  = "unfit"
	StateUnread = "unread" // no results yet: they are made when it is opened
	StateBroken = "broken" // its tape cannot be read
)

// Entry is a run as the list shows it. What is not known is absent.
type Entry struct {
	ID      string            `json:"id"`
	Path    string            `json:"path"` // below the folder: of the run's folder, or of a tape that stands alone
	Name    string            `json:"name"`
	Run     string            `json:"run,omitempty"`
	Started string            `json:"started,omitempty"` // RFC 3339, UTC
	Model   string            `json:"model,omitempty"`
	Server  string            `json:"server,omitempty"` // host and port
	Engine  string            `json:"engine,omitempty"`
	Import  string            `json:"import,omitempty"` // whose results it was made of
	N       int64             `json:"n,omitempty"`      // requests
	C       int64             `json:"c,omitempty"`      // cap in flight, 0: none
	R       float64           `json:"r,omitempty"`      // rate asked, requests/s; 0: closed loop
	State   string            `json:"state"`
	Line    string            `json:"line,omitempty"` // of the verdict; or why it is broken or unread
	Window  string            `json:"window,omitempty"`
	TTFTP50 *float64          `json:"ttft_p50,omitempty"` // ms
	TTFTP99 *float64          `json:"ttft_p99,omitempty"` // ms
	TPOTP50 *float64          `json:"tpot_p50,omitempty"` // ms
	Output  *float64          `json:"output,omitempty"`   // tokens/s
	Notes   map[string]string `json:"notes,omitempty"`    // the user's
	Points  int               `json:"points,omitempty"`   // of a sweep
	Sweep   string            `json:"sweep,omitempty"`    // id of the sweep that a run is a point of
	Bytes   int64             `json:"bytes"`              // of the tape's file
}

// summary is the part of results.json that a list needs.
type summary struct {
	Schema  string `json:"schema"`
	Run     string `json:"run"`
	Verdict struct {
		Fit  bool   `json:"fit"`
		Line string `json:"line"`
	} `json:"verdict"`
	Load struct {
		Requests    int64    `json:"requests"`
		Concurrency int64    `json:"concurrency"`
		RateAsked   *float64 `json:"rate_asked_per_s"`
	} `json:"load"`
	Windows []windowSummary `json:"windows"`
}

type windowSummary struct {
	Kind    string   `json:"kind"`
	From    *float64 `json:"from_s"`
	Metrics struct {
		TTFT quantiles `json:"ttft_ms"`
		TPOT quantiles `json:"tpot_ms"`
	} `json:"metrics"`
	System struct {
		Output *float64 `json:"output_tokens_per_s"`
	} `json:"system"`
}

type quantiles struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
}

// summarise takes of Results what results.json would have said.
func summarise(r *analysis.Results) *summary {
	s := &summary{Schema: r.Schema, Run: r.Run}
	s.Verdict.Fit, s.Verdict.Line = r.Verdict.Fit, r.Verdict.Line
	s.Load.Requests, s.Load.Concurrency, s.Load.RateAsked = r.Load.Requests, r.Load.Concurrency, r.Load.RateAsked
	for i := range r.Windows {
		w := &r.Windows[i]
		to := windowSummary{Kind: w.Kind, From: w.From}
		if m := w.Metrics["ttft_ms"]; m != nil {
			to.Metrics.TTFT = quantiles{m.P50, m.P99}
		}
		if m := w.Metrics["tpot_ms"]; m != nil {
			to.Metrics.TPOT = quantiles{m.P50, m.P99}
		}
		to.System.Output = w.System.OutputTokensPerS
		s.Windows = append(s.Windows, to)
	}
	return s
}

// chosen is the window that is meant to be quoted: the steady one, else the first that
// exists.
func (s *summary) chosen() *windowSummary {
	var first *windowSummary
	for i := range s.Windows {
		w := &s.Windows[i]
		if w.From == nil {
			continue
		}
		if w.Kind == "steady" {
			return w
		}
		if first == nil {
			first = w
		}
	}
	return first
}

// tell adds to an entry what a summary says.
func (e *Entry) tell(s *summary) {
	e.State = StateUnfit
	if s.Verdict.Fit {
		e.State = StateFit
	}
	e.Line = shown(s.Verdict.Line, mostLine)
	e.N, e.C, e.R = s.Load.Requests, s.Load.Concurrency, 0
	if s.Load.RateAsked != nil {
		e.R = *s.Load.RateAsked
	}
	if w := s.chosen(); w != nil {
		e.Window = shown(w.Kind, mostText)
		e.TTFTP50, e.TTFTP99, e.TPOTP50, e.Output = w.Metrics.TTFT.P50, w.Metrics.TTFT.P99, w.Metrics.TPOT.P50, w.System.Output
	}
}

// head is the part of a tape's spec that a list needs.
type head struct {
	Name string `json:"name"`
	Load struct {
		Requests    int64   `json:"requests"`
		Concurrency int64   `json:"concurrency"`
		Rate        float64 `json:"rate"`
	} `json:"load"`
	Notes map[string]string `json:"notes"`
}

// How much of a text that others wrote a list shows, in bytes, and how many notes.
const (
	mostText  = 200
	mostLine  = 600
	mostNotes = 20
)

// shown makes one line of a text, and bounds it.
func shown(s string, most int) string {
	if len(s) > 4*most { // before it is looked through
		s = s[:4*most]
	}
	s = secret.OneLine(s)
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

var userinfo = regexp.MustCompile(`^[^/@]*@`)

// hostOf is the host and port of a URL, without whoever logs in.
func hostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		rest = url
	}
	host, _, _ := strings.Cut(userinfo.ReplaceAllString(rest, ""), "/")
	host, _, _ = strings.Cut(host, "?")
	return host
}

// take takes what the tape's header says.
func (e *Entry) take(h *tape.Header) {
	var s head
	_ = json.Unmarshal(h.Spec, &s) // of an imported tape there may be none; what was read stays
	e.Run, e.Name = shown(h.Run, mostText), shown(h.Name, mostText)
	if e.Name == "" {
		e.Name = shown(s.Name, mostText)
	}
	e.Started = shown(h.Anchor.Wall, 40)
	e.Model, e.Server = shown(h.Server.Model, mostText), shown(hostOf(h.Server.URL), mostText)
	e.Engine = shown(strings.TrimSpace(h.Server.Engine+" "+h.Server.Version), mostText)
	if h.Import != nil {
		e.Import = shown(h.Import.Tool, mostText)
	}
	e.N, e.C, e.R = s.Load.Requests, s.Load.Concurrency, s.Load.Rate
	for k, v := range s.Notes {
		if len(e.Notes) >= mostNotes {
			break
		}
		if e.Notes == nil {
			e.Notes = map[string]string{}
		}
		if secret.Name(k) {
			v = secret.Mask
		}
		e.Notes[shown(k, mostText)] = shown(v, mostText)
	}
}

// sizes of what is read whole.
const mostResults = 64 << 20

// read makes the entry of a candidate; nil: it is no tape.
func (x *index) read(c candidate) *Entry {
	if c.sweep() {
		return x.readSweep(c)
	}
	e := &Entry{ID: idOf(c.rel), Path: shown(c.shown(), mostText), Bytes: c.tape.size, State: StateUnread}
	named := c.named() || strings.HasSuffix(c.rel, packEnd)
	f, err := x.open(c.rel)
	if err != nil {
		return e.broken(err)
	}
	r, err := tape.FromFile(f, path.Base(c.rel))
	if err != nil {
		if !named { // some other archive
			return nil
		}
		return e.broken(err)
	}
	rec, err := r.Next()
	r.Close()
	h, ok := rec.(*tape.Header)
	switch {
	case err != nil && !named && (errors.Is(err, tape.ErrNotTape) || !strings.Contains(path.Base(c.rel), "tape")):
		return nil
	case err != nil:
		return e.broken(err)
	case !ok:
		if f, ok := rec.(*tape.Fault); ok {
			return e.broken(errors.New(f.String()))
		}
		return e.broken(errors.New("its first line is no header"))
	}
	e.take(h)
	if e.Name == "" {
		e.Name = e.Path
	}
	if s := x.learned(c); s != nil {
		e.tell(s)
		return e
	}
	switch s, err := x.results(c); {
	case err != nil:
		e.Line = "results.json: " + shown(err.Error(), mostLine)
	case s == nil:
		e.Line = "no results.json beside it: the run goes on, was killed, or the tape stands alone"
	case s.Run != h.Run:
		e.Line = "results.json is of another run"
	default:
		e.tell(s)
	}
	return e
}

func (e *Entry) broken(err error) *Entry {
	e.State, e.Line = StateBroken, shown(strings.TrimPrefix(err.Error(), "tape: "), mostLine)
	if e.Name == "" {
		e.Name = e.Path
	}
	return e
}

// packed reports a run in a pack.
func (c candidate) packed() bool { return strings.HasSuffix(c.rel, ".zip") }

// inPack is a file of a pack that is closed with it.
type inPack struct {
	io.ReadCloser
	pack *bundle.Pack
}

// Close closes the file and the pack.
func (f inPack) Close() error { return errors.Join(f.ReadCloser.Close(), f.pack.Close()) }

// beside opens a file that lies beside a tape, or with it in a pack; nil: there is none.
func (x *index) beside(c candidate, name string) (io.ReadCloser, error) {
	if !c.packed() {
		f, err := x.open(path.Join(path.Dir(c.rel), name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	f, err := x.open(c.rel)
	if err != nil {
		return nil, err
	}
	p, err := bundle.FromFile(f, path.Base(c.rel))
	if err != nil {
		return nil, err
	}
	if !p.Has(name) {
		return nil, p.Close()
	}
	in, err := p.Open(name)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return inPack{in, p}, nil
}

// results reads the results.json of a candidate; nil: there is none.
func (x *index) results(c candidate) (*summary, error) {
	if c.results == (stamp{}) && !c.packed() {
		return nil, nil
	}
	in, err := x.beside(c, bundle.ResultsName)
	if in == nil || err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, mostResults+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostResults {
		return nil, fmt.Errorf("more than %d MiB", mostResults>>20)
	}
	s := new(summary)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	if name, _, _ := strings.Cut(analysis.Schema, "/"); !strings.HasPrefix(s.Schema, name+"/") {
		return nil, fmt.Errorf("not the results of a run (schema %q)", shown(s.Schema, 40))
	}
	return s, nil
}
