package simserver

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tokentape/internal/sim"
)

// MetricsKind is a way in which a metrics page goes wrong, or is another than usual.
type MetricsKind string

// The kinds. MetricsKinds tells what each does.
const (
	MetricsSlow        MetricsKind = "slow"
	MetricsHang        MetricsKind = "hang"
	MetricsMany        MetricsKind = "many"
	MetricsHuge        MetricsKind = "huge"
	MetricsBroken      MetricsKind = "broken"
	MetricsCut         MetricsKind = "cut"
	MetricsHTML        MetricsKind = "html"
	MetricsAuth        MetricsKind = "auth"
	MetricsStatus      MetricsKind = "status"
	MetricsGzip        MetricsKind = "gzip"
	MetricsOpenMetrics MetricsKind = "openmetrics"
	MetricsReset       MetricsKind = "reset"
	MetricsRestart     MetricsKind = "restart"
)

// MetricsKinds are the kinds of faults of metrics pages and what they do. Words in
// capitals are the fault's settings, with their defaults in brackets.
var MetricsKinds = []struct {
	Kind  MetricsKind
	About string
}{
	{MetricsSlow, "the page takes FOR (2s)"},
	{MetricsHang, "the page never comes"},
	{MetricsMany, "SIZE (5000) more series, of which one in five moves with every page"},
	{MetricsHuge, "SIZE (20000000) more bytes of series"},
	{MetricsBroken, "a line in the middle is torn"},
	{MetricsCut, "the connection is closed in the middle of the page"},
	{MetricsHTML, "status 200 and a login page in HTML"},
	{MetricsAuth, "status 401 without the bearer token BODY (metrics-key)"},
	{MetricsStatus, "status CODE (503)"},
	{MetricsGzip, "compressed, though nobody asked"},
	{MetricsOpenMetrics, "the text format of OpenMetrics"},
	{MetricsReset, "counters begin again at 0; once"},
	{MetricsRestart, "the same, the process start time moves, and the page is 503 for FOR (0s); once"},
}

// MetricsFault is one way in which metrics pages go wrong, from when on.
type MetricsFault struct {
	Kind     MetricsKind   `json:"kind"`
	Node     Node          `json:"node,omitempty"` // of this node's page alone; "": of all
	Code     int           `json:"code,omitempty"`
	Size     int64         `json:"size,omitempty"`
	For      time.Duration `json:"for_ns,omitempty"`
	Body     string        `json:"body,omitempty"`
	At       time.Duration `json:"at_ns,omitempty"`    // from this time after the start on
	Requests int64         `json:"requests,omitempty"` // from the arrival of so many generation requests on
}

// ParseMetricsFault reads "KIND[,node=prefill][,at=3s][,requests=20][,for=2s][,size=5000][,code=503][,body=TEXT]".
func ParseMetricsFault(s string) (MetricsFault, error) {
	kind, rest, _ := strings.Cut(s, ",")
	f := MetricsFault{Kind: MetricsKind(strings.TrimSpace(kind))}
	for rest != "" {
		var kv string
		kv, rest, _ = strings.Cut(rest, ",")
		k, v, _ := strings.Cut(kv, "=")
		var err error
		switch strings.TrimSpace(k) {
		case "node":
			f.Node = Node(v)
		case "at":
			f.At, err = time.ParseDuration(v)
		case "requests":
			f.Requests, err = strconv.ParseInt(v, 10, 64)
		case "for":
			f.For, err = time.ParseDuration(v)
		case "size":
			f.Size, err = strconv.ParseInt(v, 10, 64)
		case "code":
			f.Code, err = strconv.Atoi(v)
		case "body":
			f.Body = v
		default:
			err = errors.New("no such setting; known: node, at, requests, for, size, code, body")
		}
		if err != nil {
			return f, fmt.Errorf("metrics fault %q: %s: %w", s, k, err)
		}
	}
	if err := f.validate(); err != nil {
		return f, fmt.Errorf("metrics fault %q: %w", s, err)
	}
	return f, nil
}

func (f *MetricsFault) validate() error {
	known := false
	var names []string
	for _, k := range MetricsKinds {
		known = known || k.Kind == f.Kind
		names = append(names, string(k.Kind))
	}
	once := f.Kind == MetricsReset || f.Kind == MetricsRestart
	switch {
	case !known:
		return fmt.Errorf("kind %q is not one of %s", f.Kind, strings.Join(names, ", "))
	case f.Node != "" && f.Node != NodeUnified && !slices.Contains(nodes, f.Node):
		return fmt.Errorf("node must be %s or one of %v, not %q", NodeUnified, nodes, f.Node)
	case f.Node.device() && once:
		return fmt.Errorf("%s: the page of %s has no counters", f.Kind, f.Node)
	case f.At < 0 || f.For < 0 || f.Requests < 0:
		return errors.New("at, for and requests must be 0 or more")
	case f.At > 0 && f.Requests > 0:
		return errors.New("at and requests exclude each other")
	case f.Size < 0 || f.Size > 1<<30:
		return fmt.Errorf("size must be from 0 to 1 GiB, not %d", f.Size)
	case f.Code != 0 && (f.Code < 200 || f.Code > 599):
		return fmt.Errorf("code must be from 200 to 599, not %d", f.Code)
	case once && f.At == 0 && f.Requests == 0:
		return fmt.Errorf("%s needs at=DURATION or requests=N", f.Kind)
	}
	return nil
}

// metricsState is what resets and restarts have made of the counters.
type metricsState struct {
	mu     sync.Mutex
	began  time.Time // of all processes, as their pages tell it
	anew   map[Node]anew
	pages  int64 // so far
	begin  int64 // of the server, by the engine's clock
	timers []interface{ Stop() bool }
}

// anew is a node that was reset or restarted.
type anew struct {
	before  sim.Stats // its counters begin here
	started time.Time // its process
	down    int64     // until then its page is 503, by the engine's clock; with has
	has     bool
}

// since are the counters as a node's page tells them, and since when.
func (m *metricsState) since(node Node, st sim.Stats) (sim.Stats, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages++
	a, ok := m.anew[node]
	if !ok {
		return st, m.began
	}
	return st.Since(&a.before), a.started
}

// beginMetrics sets the clocks of faults that happen once at a time.
func (s *Server) beginMetrics() {
	s.metrics.began, s.metrics.begin = s.clk.Wall(), s.clk.Now()
	for i := range s.o.MetricsFaults {
		if f := &s.o.MetricsFaults[i]; f.At > 0 && (f.Kind == MetricsReset || f.Kind == MetricsRestart) {
			s.metrics.timers = append(s.metrics.timers, s.clk.AfterFunc(int64(f.At), func() { s.restart(f) }))
		}
	}
}

func (s *Server) endMetrics() {
	for _, t := range s.metrics.timers {
		t.Stop()
	}
}

// arrived plays faults that happen once with generation request n, counted from 1.
func (s *Server) arrived(n int64) {
	for i := range s.o.MetricsFaults {
		if f := &s.o.MetricsFaults[i]; f.Requests == n && (f.Kind == MetricsReset || f.Kind == MetricsRestart) {
			s.restart(f)
		}
	}
}

func (s *Server) restart(f *MetricsFault) {
	st := s.engine.Stats()
	m := &s.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.anew == nil {
		m.anew = map[Node]anew{}
	}
	for _, node := range []Node{NodeUnified, NodePrefill, NodeDecode} {
		if f.Node != "" && f.Node != node {
			continue
		}
		a, again := m.anew[node]
		if !again {
			a.started = m.began
		}
		a.before = st
		if f.Kind == MetricsRestart {
			a.started, a.down, a.has = s.clk.Wall(), s.clk.Now()+int64(f.For), true
		}
		m.anew[node] = a
	}
}

// metricsFault is the first fault of a kind that plays now on a node's page; nil: none.
func (s *Server) metricsFault(node Node, kind MetricsKind) *MetricsFault {
	for i := range s.o.MetricsFaults {
		f := &s.o.MetricsFaults[i]
		if f.Kind == kind && (f.Node == "" || f.Node == node) && s.clk.Now()-s.metrics.begin >= int64(f.At) && s.number.Load() >= f.Requests {
			return f
		}
	}
	return nil
}

// faultyPage sends a page as its faults have it.
func (s *Server) faultyPage(w http.ResponseWriter, r *http.Request, node Node, page []byte) {
	s.metrics.mu.Lock()
	a, turn := s.metrics.anew[node], s.metrics.pages
	down := a.has && a.down > s.clk.Now() // the clock's epoch may lie ahead
	s.metrics.mu.Unlock()
	if f := s.metricsFault(node, MetricsHang); f != nil {
		s.pause(r.Context(), 1<<62)
		return
	}
	if f := s.metricsFault(node, MetricsSlow); f != nil {
		s.pause(r.Context(), int64(cmp.Or(f.For, 2*time.Second)))
	}
	if f := s.metricsFault(node, MetricsAuth); f != nil && r.Header.Get("Authorization") != "Bearer "+cmp.Or(f.Body, "metrics-key") {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
		return
	}
	if f := s.metricsFault(node, MetricsStatus); f != nil || down {
		code := http.StatusServiceUnavailable
		if f != nil && f.Code != 0 {
			code = f.Code
		}
		writeJSON(w, code, map[string]string{"error": http.StatusText(code)})
		return
	}
	if s.metricsFault(node, MetricsHTML) != nil {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><html><body>Please log in.</body></html>\n"))
		return
	}
	if f := s.metricsFault(node, MetricsMany); f != nil {
		page = append(page, manySeries(cmp.Or(f.Size, 5000), turn)...)
	}
	if f := s.metricsFault(node, MetricsHuge); f != nil {
		var block []byte // of lines that repeat: a page is soon made
		for i := range 1000 {
			block = fmt.Appendf(block, "sim_huge_total{nr=\"%d\"} %d\n", i, i)
		}
		page = append(page, bytes.Repeat(block, int(cmp.Or(f.Size, 20_000_000))/len(block)+1)...)
	}
	middle := bytes.LastIndexByte(page[:len(page)/2], '\n') + 1
	if s.metricsFault(node, MetricsBroken) != nil {
		page = append(append(bytes.Clone(page[:middle]), "sglang:num_queue_reqs{model_na\n"...), page[middle:]...)
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if s.metricsFault(node, MetricsOpenMetrics) != nil {
		h.Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
		page = openMetrics(page)
	}
	if s.metricsFault(node, MetricsGzip) != nil {
		h.Set("Content-Encoding", "gzip")
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(page)
		_ = z.Close()
		page = b.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(page)))
	if s.metricsFault(node, MetricsCut) != nil {
		_, _ = w.Write(page[:len(page)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(page)
}

// pause passes d ns, or less when the client or the server goes.
func (s *Server) pause(ctx context.Context, d int64) {
	over := make(chan struct{})
	t := s.clk.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	case <-s.gone:
	}
}

// manySeries are n more series, of which one in five moves from turn to turn. They have
// names that a scrape by default leaves out, but for one family in four.
func manySeries(n, turn int64) []byte {
	var b bytes.Buffer
	names := []string{"sglang:kv_transfer_sim", "sim_expert_load", "sim_layer_seconds", "python_sim_objects"}
	for i := range n {
		name, group := names[i/50%int64(len(names))], i/50
		if i%50 == 0 {
			fmt.Fprintf(&b, "# HELP %[1]s_%[2]d One of many families.\n# TYPE %[1]s_%[2]d gauge\n", name, group)
		}
		v := i
		if i%5 == 0 {
			v += turn
		}
		fmt.Fprintf(&b, "%s_%d{layer=\"%d\",rank=\"%d\",model_name=\"deepseek-ai/DeepSeek-V3\",engine_type=\"unified\"} %d.0\n", name, group, i%50, i%8, v)
	}
	return b.Bytes()
}

// openMetrics turns a page into the text format of OpenMetrics.
func openMetrics(page []byte) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(page)) {
		if words := strings.Fields(line); len(words) > 3 && words[0] == "#" && (words[1] == "TYPE" || words[1] == "HELP") {
			line = strings.Replace(line, words[2]+" ", strings.TrimSuffix(words[2], "_total")+" ", 1)
		}
		b.WriteString(line)
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}
