package simserver

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tokentape/internal/clock"
	"tokentape/internal/memnet"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is a server that answers at once and does not speculate about lengths.
func quick(change ...func(*Options)) Options {
	o := Instant()
	o.OutputMean = 4
	for _, f := range change {
		f(&o)
	}
	return o
}

func newServer(t testing.TB, o Options) *Server {
	s := NewWithClock(o, clock.New())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// do sends one request to the handler without a network.
func do(s http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// payloads are the data lines of a stream.
func payloads(t testing.TB, body string) []string {
	t.Helper()
	var out []string
	for _, ev := range strings.SplitAfter(body, "\n\n") {
		if ev == "" {
			continue
		}
		p, ok := strings.CutPrefix(ev, "data: ")
		if !ok || !strings.HasSuffix(p, "\n\n") {
			t.Fatalf("not an event: %q", ev)
		}
		out = append(out, strings.TrimSuffix(p, "\n\n"))
	}
	return out
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    *struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Spec *struct {
		Accepted int64 `json:"accepted_prediction_tokens"`
		Rejected int64 `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

type chunkJSON struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index int `json:"index"`
		Delta *struct {
			Role    *string `json:"role"`
			Content *string `json:"content"`
		} `json:"delta"`
		Message *struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"message"`
		Text   *string `json:"text"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

func decode(t testing.TB, payload string) chunkJSON {
	t.Helper()
	var c chunkJSON
	d := json.NewDecoder(strings.NewReader(payload))
	if err := d.Decode(&c); err != nil {
		t.Fatalf("%q: %v", payload, err)
	}
	return c
}

// network serves s in memory; the client has the clock of the server.
type network struct {
	http   *http.Server
	client *http.Client
	done   chan struct{}
}

func serve(s http.Handler) *network {
	l := memnet.Listen()
	n := &network{done: make(chan struct{}), http: &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}}
	go func() { defer close(n.done); _ = n.http.Serve(l) }()
	n.client = &http.Client{Transport: &http.Transport{DialContext: l.Dial, DisableCompression: true, MaxIdleConnsPerHost: 1000}}
	return n
}

func (n *network) close() {
	n.client.CloseIdleConnections()
	_ = n.http.Close()
	<-n.done
}

// seen is one stream as a client saw it.
type seen struct {
	status int
	header int64 // when headers came
	times  []int64
	data   []string
	end    int64
	err    error
}

func newTCPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000}}
}

func (n *network) post(ctx context.Context, clk *clock.Clock, path, body string, header ...string) seen {
	return n.postURL(ctx, clk, "http://sim"+path, body, header...)
}

func (n *network) postURL(ctx context.Context, clk *clock.Clock, url, body string, header ...string) seen {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return seen{err: err}
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return seen{err: err, end: clk.Now()}
	}
	defer resp.Body.Close()
	out := seen{status: resp.StatusCode, header: clk.Now()}
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if line := sc.Text(); line != "" {
			out.times = append(out.times, clk.Now())
			out.data = append(out.data, strings.TrimPrefix(line, "data: "))
		}
	}
	out.err, out.end = sc.Err(), clk.Now()
	return out
}

const ms = int64(time.Millisecond)
