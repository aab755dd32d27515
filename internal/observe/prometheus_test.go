package observe_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"tokentape/internal/clock"
	"tokentape/internal/observe"
	"tokentape/internal/telemetry"
	"tokentape/tape"
)

// read reads the page as a run reads the pages of servers.
func read(t *testing.T, page string) (got *tape.Scrape) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &telemetry.Scraper{Clock: clock.New(), Emit: func(s *tape.Scrape) {
			if got == nil {
				got = s
				cancel()
			}
		}, Fetch: func(context.Context, telemetry.Source) (telemetry.Page, error) {
			return telemetry.Page{Status: 200, Type: "text/plain; version=0.0.4; charset=utf-8", Body: []byte(page)}, nil
		}}
		s.Run(ctx, []telemetry.Source{{Name: "live", Interval: time.Second, All: true}})
	})
	return got
}

// Our own reader takes from the page what the moment holds, with types; and so does
// Prometheus' own parser.
func TestPage(t *testing.T) {
	hostile := "x\"} 1\n# TYPE a counter\nowned 1 \\ 漢字 \xff"
	m := &observe.Moment{
		State: observe.State{
			T: 72_300_000_000, Planned: 640, Issued: 231, Measured: 221, Due: tape.Some[int64](236), InFlight: 90, OK: 126,
			Failed: map[string]int64{"http_status": 4, "reset": 1}, Cancelled: 3, Abandoned: 2, Events: 60_000, Queue: 7,
			Begun: tape.Some[int64](0),
		},
		Setup:    observe.Setup{Concurrency: 90},
		Offered:  tape.Some(6.0),
		Sent:     tape.Some(5.5),
		Ended:    tape.Some(4.25),
		Tokens:   tape.Some(2210.5),
		Left:     tape.Some[int64](95_500_000_000),
		TTFT:     observe.Spread{N: 43, P50: 812_500_000, P90: 2_345_000_000, P99: 12_000_000_000, All: 126, Sum: 100_500_000_000},
		Failures: []observe.Failure{{Class: "http_status 429 (rate_limit)", N: 4}, {Class: hostile, N: 1}},
		Client:   &tape.ClientSample{CPU: 0.31, PacerP99: tape.Some[int64](42_000), RSS: 1 << 20},
	}
	want := map[string]float64{
		"running": 1, `phase{phase="measure"}`: 1, `phase{phase="done"}`: 0, "time_seconds": 72.3, "time_left_seconds": 95.5,
		"requests_planned": 640, "requests_due_total": 236, "requests_sent_total": 231, "requests_measured_sent_total": 221,
		"requests_in_flight": 90, "requests_in_flight_limit": 90,
		`requests_ended_total{outcome="ok"}`: 126, `requests_ended_total{outcome="failed"}`: 5,
		`requests_ended_total{outcome="cancelled"}`: 3, `requests_ended_total{outcome="abandoned"}`: 2,
		`requests_failed_total{class="http_status 429 (rate_limit)"}`: 4,
		"token_events_total": 60_000, "offered_requests_per_second": 6, "achieved_requests_per_second": 5.5,
		"ended_requests_per_second": 4.25, "output_tokens_per_second": 2210.5,
		`ttft_seconds{quantile="0.5"}`: 0.8125, `ttft_seconds{quantile="0.9"}`: 2.345, `ttft_seconds{quantile="0.99"}`: 12,
		"ttft_seconds_sum": 100.5, "ttft_seconds_count": 126, "tpot_seconds_sum": 0, "tpot_seconds_count": 0,
		"recorder_queue": 7, "pacer_lag_p99_seconds": 0.000042, "client_cpu_cores": 0.31, "client_memory_bytes": 1 << 20,
	}
	page := observe.Page(m)
	got := read(t, page)
	if !got.OK || got.NotFinite != 0 || got.Repeated != 0 {
		t.Fatalf("%+v\n%s", got, page)
	}
	for name, v := range want {
		if have, ok := got.Series["tokentape_"+name]; !ok || have != v {
			t.Errorf("%s is %v (%t), not %v", name, have, ok, v)
		}
	}
	others := maps.Clone(got.Series)
	for name := range want {
		delete(others, "tokentape_"+name)
	}
	for name := range others {
		if !strings.HasPrefix(name, `tokentape_phase{`) && !strings.HasPrefix(name, `tokentape_requests_failed_total{class="x\"} 1 # TYPE`) {
			t.Errorf("nobody asked for %s", name)
		}
	}
	for family, typ := range map[string]string{"tokentape_ttft_seconds": "summary", "tokentape_requests_failed_total": "counter", "tokentape_requests_in_flight": "gauge"} {
		if got.Types[family] != typ {
			t.Errorf("%s is a %s, not a %s", family, got.Types[family], typ)
		}
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(page))
	if err != nil || len(families["tokentape_ttft_seconds"].GetMetric()[0].GetSummary().GetQuantile()) != 3 {
		t.Errorf("%v: %v", err, families["tokentape_ttft_seconds"])
	}
}

// Before a run, and of one of which nothing is known yet, there is a page too.
func TestPageEmpty(t *testing.T) {
	if got := read(t, observe.Page(nil)); !got.OK || got.Series["tokentape_running"] != 0 || len(got.Series) != 1 {
		t.Errorf("%+v", got)
	}
	got := read(t, observe.Page(&observe.Moment{State: observe.State{Planned: -1}}))
	if _, ok := got.Series["tokentape_requests_planned"]; ok || !got.OK || got.NotFinite != 0 {
		t.Errorf("%+v", got)
	}
}

// The page is at / and /metrics alone, and is only read.
func TestExporter(t *testing.T) {
	e := &observe.Exporter{}
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	if w := get("GET", "/metrics"); w.Code != 200 || !strings.Contains(w.Body.String(), "tokentape_running 0\n") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	e.Show(observe.Moment{})
	if w := get("GET", "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "tokentape_running 1\n") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	e.Show(observe.Moment{State: observe.State{Final: true}})
	if w := get("GET", "/metrics"); !strings.Contains(w.Body.String(), "tokentape_running 0\n") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get("GET", "/other"); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
	if w := get("POST", "/metrics"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("%d", w.Code)
	}
}
