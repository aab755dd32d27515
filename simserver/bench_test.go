package simserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"tokentape/internal/clock"
)

// BenchmarkInstant is one streamed answer of 16 tokens from the instant profile,
// over a loopback socket with net/http as the client.
func BenchmarkInstant(b *testing.B) {
	r, err := Listen("127.0.0.1:0", Instant())
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	c := newTCPClient()
	defer c.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		resp, err := c.Post(r.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{`+hello+`,"stream":true}`))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}

// nullWriter is a ResponseWriter that costs nothing.
type nullWriter struct{ h http.Header }

func (w *nullWriter) Header() http.Header         { return w.h }
func (w *nullWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *nullWriter) WriteHeader(int)             {}
func (w *nullWriter) Flush()                      {}

// BenchmarkHandler is the same without a network.
func BenchmarkHandler(b *testing.B) {
	s := New(Instant())
	defer s.Close()
	w := &nullWriter{h: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{`+hello+`,"stream":true}`))
		if err != nil {
			b.Fatal(err)
		}
		s.ServeHTTP(w, r)
	}
}

// BenchmarkPunctual is 64 streams of 100 tokens/s over loopback sockets, in one
// process with a plain client: how late the writes are against the schedule.
func BenchmarkPunctual(b *testing.B) {
	o := Defaults()
	o.PrefillFixed, o.PrefillPerToken, o.DecodePerSeq, o.Cache = 0, 0, 0, false
	for b.Loop() {
		r, err := Listen("127.0.0.1:0", o)
		if err != nil {
			b.Fatal(err)
		}
		c := newTCPClient()
		n, clk := &network{client: c}, clock.New()
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				n.postURL(context.Background(), clk, r.URL+"/v1/chat/completions", fmt.Sprintf(
					`{"messages":[{"role":"user","content":"%d"}],"stream":true,"max_tokens":200,"ignore_eos":true}`, i))
			})
		}
		wg.Wait()
		var late []int64
		for _, tr := range r.Trace() {
			for i := range tr.Due {
				late = append(late, tr.WriteStart[i]-tr.Due[i])
			}
		}
		slices.Sort(late)
		b.ReportMetric(float64(late[len(late)/2])/1e3, "late-p50-µs")
		b.ReportMetric(float64(late[len(late)*99/100])/1e3, "late-p99-µs")
		c.CloseIdleConnections()
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
