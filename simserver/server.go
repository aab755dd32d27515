package simserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"tokentape/internal/sim"
	"tokentape/internal/wirecase"
)

// Server is the simulated server. It is safe for concurrent use; several
// listeners may serve one.
type Server struct {
	o       Options
	clk     *sim.Clock
	engine  *sim.Engine
	truths  truths
	number  atomic.Int64 // generation requests so far
	handler sync.WaitGroup

	raw    *wirecase.Server   // plays scripts; nil: none
	script *wirecase.Rotation // nil: none

	metrics metricsState

	mu     sync.Mutex
	closed bool
	gone   chan struct{} // closed by Close
	seen   map[string]int64
}

// New starts a server whose engine steps on the precise clock. It panics when
// Options.Validate fails: check options that come from a user with it first.
// The caller ends the server with Close.
func New(o Options) *Server { return NewWithClock(o, sim.NewClock()) }

// NewWithClock is New with a given clock. Inside a testing/synctest bubble give
// it one of clock.New, and share it with the client whose stamps are compared.
func NewWithClock(o Options, clk *sim.Clock) *Server {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	engine, err := sim.New(o.engine(), clk)
	if err != nil {
		panic(err) // Validate covers it
	}
	s := &Server{
		o: o, clk: clk, engine: engine, seen: map[string]int64{}, gone: make(chan struct{}),
		truths: truths{keep: o.Keep, out: o.Trace, on: o.OnTruth},
	}
	s.beginMetrics()
	if len(o.Scripts) > 0 {
		if s.script, err = o.rotation(); err != nil {
			panic(err)
		}
		s.raw = &wirecase.Server{Clock: clk, Pick: s.pickScript, Other: s}
	}
	return s
}

// Close stops the engine, breaks off answers under way and waits for their
// handlers, whose connections may hold it up while their peers do not read:
// close those first. Later requests get status 503. It returns the first error
// of writing the trace.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		close(s.gone)
	}
	s.closed = true
	s.mu.Unlock()
	s.endMetrics()
	s.engine.Close()
	if s.raw != nil {
		s.raw.Close()
	}
	s.handler.Wait()
	s.truths.mu.Lock()
	defer s.truths.mu.Unlock()
	return s.truths.err
}

// Trace is the truth of the newest Options.Keep generation requests, in the
// order in which they ended. A request is in it before its response's end can
// be read.
func (s *Server) Trace() []Truth { return s.truths.all() }

// Seen counts requests by path, whatever their method and outcome. Beyond 1,000
// different paths the rest are counted as "other".
func (s *Server) Seen() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := make(map[string]int64, len(s.seen))
	for k, v := range s.seen {
		m[k] = v
	}
	return m
}

// Stats is the present state of the engine: what /metrics is made of.
func (s *Server) Stats() sim.Stats { return s.engine.Stats() }

func (s *Server) enter(r *http.Request) bool {
	if !s.scripted(r) { // those are counted one by one as they are read
		s.count(r.URL.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handler.Add(1)
	}
	return !s.closed
}

func (s *Server) count(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.seen[key]; !ok && len(s.seen) >= 1000 {
		key = "other"
	}
	s.seen[key]++
}

// allowed reports whether the request has the API key, where it needs one.
func (s *Server) allowed(r *http.Request) bool {
	open := strings.HasPrefix(r.URL.Path, "/health") || strings.HasPrefix(r.URL.Path, "/metrics")
	return s.o.APIKey == "" || open || r.Header.Get("Authorization") == "Bearer "+s.o.APIKey
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter(r) {
		writeError(w, &apiError{http.StatusServiceUnavailable, "ServiceUnavailableError", "The server is shutting down."})
		return
	}
	defer s.handler.Done()
	h := w.Header()
	h.Set("Server", "uvicorn")
	if !s.allowed(r) {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
		return
	}
	if s.scripted(r) {
		s.playScript(w, r)
		return
	}
	method := http.MethodGet
	var serve func(http.ResponseWriter, *http.Request)
	switch r.URL.Path {
	case "/v1/chat/completions":
		method, serve = http.MethodPost, func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, true, nil) }
	case "/v1/completions":
		method, serve = http.MethodPost, func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, false, nil) }
	case "/v1/models":
		serve = s.models
	case "/health", "/health_generate":
		serve = func(http.ResponseWriter, *http.Request) {}
	case "/metrics", "/metrics/":
		serve = func(w http.ResponseWriter, r *http.Request) { s.metricsPage(w, r, NodeUnified) }
		if s.o.paired() { // the entry of a pair is a router, whose page is another
			serve = http.NotFound
		}
	case "/get_server_info", "/server_info":
		serve = func(w http.ResponseWriter, r *http.Request) { s.serverInfo(w, r, NodeUnified) }
	case "/get_model_info", "/model_info":
		serve = s.modelInfo
	case "/flush_cache":
		method, serve = r.Method, s.flush
		if r.Method != http.MethodPost {
			method = http.MethodGet
		}
	default:
		api := nativeAt(r.URL.Path)
		if api == nil {
			writeJSON(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
			return
		}
		method, serve = http.MethodPost, func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, false, api) }
	}
	if r.Method != method && !(method == http.MethodGet && r.Method == http.MethodHead) {
		h.Set("Allow", method)
		writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"detail": "Method Not Allowed"})
		return
	}
	serve(w, r)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, (&apiError{500, "InternalServerError", err.Error()}).json()
	}
	writeBody(w, status, b)
}

func writeError(w http.ResponseWriter, e *apiError) { writeBody(w, e.status, e.json()) }

func writeBody(w http.ResponseWriter, status int, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may have gone: nothing to tell anybody
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type card struct {
		ID      string  `json:"id"`
		Object  string  `json:"object"`
		Created int64   `json:"created"`
		OwnedBy string  `json:"owned_by"`
		Root    string  `json:"root"`
		Parent  *string `json:"parent"`
		MaxLen  int64   `json:"max_model_len"`
	}
	writeJSON(w, http.StatusOK, struct {
		Object string `json:"object"`
		Data   []card `json:"data"`
	}{"list", []card{{s.o.Model, "model", s.clk.Wall().Unix(), "sglang", s.o.Model, nil, s.o.Context}}})
}

func (s *Server) modelInfo(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"model_path": s.o.Model, "tokenizer_path": s.o.Model, "is_generation": true, "weight_version": "default",
	})
}

func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request, node Node) {
	st := s.engine.Stats()
	mode := string(node)
	switch {
	case node == NodeUnified && s.o.Worker != "":
		mode = string(s.o.Worker)
	case node == NodeUnified:
		mode = "null"
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"model_path": s.o.Model, "served_model_name": s.o.Model, "tokenizer_path": s.o.Model,
		"context_length": s.o.Context, "max_running_requests": s.o.Slots,
		"max_total_num_tokens": s.kvTokens(), "max_req_input_len": s.o.Context - 1,
		"page_size": s.o.PageSize, "chunked_prefill_size": s.o.ChunkTokens,
		"disable_radix_cache": !s.o.Cache, "enable_cache_report": s.o.CacheReport != CacheReportOff, "enable_metrics": true,
		"disaggregation_mode": mode, "random_seed": s.o.Seed, "tp_size": 1, "dp_size": 1,
		"status": "ready", "version": s.o.Version, "simulated": true,
		"internal_states": []map[string]any{{
			"last_gen_throughput":            st.GenThroughput,
			"effective_max_running_requests": s.o.Slots,
			"avg_spec_accept_length":         st.AcceptLength,
		}},
	})
}

func (s *Server) kvTokens() int64 { return int64(s.o.CachePages) * int64(s.o.PageSize) }

func (s *Server) flush(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !s.engine.Flush() {
		w.WriteHeader(http.StatusBadRequest)
	}
	_, _ = w.Write([]byte("Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n"))
}
