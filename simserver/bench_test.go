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
// process with a plain client: how late the writes are against the schedule, and
// the client's stamps after the writes' beginnings.
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
		var got [64]seen
		for i := range 64 {
			wg.Go(func() {
				got[i] = n.postURL(context.Background(), clk, r.URL+"/v1/chat/completions", fmt.Sprintf(
					`{"messages":[{"role":"user","content":"%d"}],"stream":true,"max_tokens":200,"ignore_eos":true}`, i), "X-Request-Id", fmt.Sprint(i))
			})
		}
		wg.Wait()
		var late, first, read []int64
		for _, tr := range r.Trace() {
			var id, k int
			fmt.Sscan(tr.ID, &id)
			for i, p := range got[id].data {
				if !isContent(p) {
					continue
				}
				late = append(late, tr.WriteStart[k]-tr.Due[k])
				d := clk.Machine(got[id].times[i]) - tr.WriteStart[k]
				read = append(read, d)
				if k == 0 {
					first = append(first, d)
				}
				k++
			}
		}
		for name, x := range map[string][]int64{"late": late, "first": first, "read": read} {
			slices.Sort(x)
			b.ReportMetric(float64(x[len(x)/2])/1e3, name+"-p50-µs")
			b.ReportMetric(float64(x[len(x)*99/100])/1e3, name+"-p99-µs")
		}
		c.CloseIdleConnections()
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
