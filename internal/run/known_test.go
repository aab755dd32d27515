package run_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/exchange"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// counted is a source that knows how often each row was asked for.
type counted struct {
	workload.Source
	mu    sync.Mutex
	asked map[int64]int
}

func (c *counted) Item(i int64) (workload.Item, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[i]++
	return c.Source.Item(i)
}

// A dataset row that the plan sends again is read and encoded once, and every request has
// its own body, reference, count of input tokens and order to abandon.
func TestRowsThatComeAgainAreMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counted{Source: questions{n: 3}, asked: map[int64]int{}}
		var mu sync.Mutex
		bodies := map[string]string{}
		answer := fixed(time.Second, nil)
		abandon := run.Abandon{Share: 0.4, When: exchange.Abandon{After: time.Second / 2}, Seed: 3}
		sum, requests, _ := rig{t: t, clk: clock.New(), rows: 3, repeat: "cycle", load: spec.Load{Requests: 30, Concurrency: 2},
			handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				bodies[r.Header.Get("X-Request-Id")] = string(body)
				mu.Unlock()
				answer.ServeHTTP(w, r)
			}),
			change: func(c *run.Config) {
				c.Source, c.Abandon = source, abandon
				c.Inputs = func(item workload.Item) (int64, bool) { return 100 + item.Ref.Row, true }
			}}.run()
		if sum.Footer.Abandoned == 0 || sum.Footer.OK == 0 {
			t.Fatalf("%+v: some are to be abandoned, some not", sum.Footer)
		}
		for i := range int64(3) {
			if source.asked[i] != 1 {
				t.Errorf("row %d was asked for %d times", i, source.asked[i])
			}
		}
		first := map[int64]string{}
		for _, q := range requests {
			row := q.Seq % 3
			if q.Ref.Row != row || q.Asked.Input != tape.Some(100+row) {
				t.Errorf("request %d: row %d, %v input tokens", q.Seq, q.Ref.Row, q.Asked.Input)
			}
			body := bodies[q.ID]
			if first[row] == "" {
				first[row] = body
			}
			if body != first[row] || body == first[(row+1)%3] {
				t.Errorf("request %d was sent %s", q.Seq, body)
			}
		}
	})
}
