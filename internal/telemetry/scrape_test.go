package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tokentape/internal/clock"
	"tokentape/tape"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     map[string]float64
		err      string
	}{
		{name: "sglang", in: `# HELP sglang:num_queue_reqs The number of requests in the waiting queue.
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{model_name="m",engine_type="unified"} 4.0
# TYPE sglang:time_to_first_token_seconds histogram
sglang:time_to_first_token_seconds_sum{model_name="m"} 1.5
sglang:time_to_first_token_seconds_bucket{le="0.1",model_name="m"} 2.0
sglang:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} 3.0
sglang:time_to_first_token_seconds_count{model_name="m"} 3.0
`, want: map[string]float64{
			`sglang:num_queue_reqs{engine_type="unified",model_name="m"}`:         4,
			`sglang:time_to_first_token_seconds_sum{model_name="m"}`:              1.5,
			`sglang:time_to_first_token_seconds_count{model_name="m"}`:            3,
			`sglang:time_to_first_token_seconds_bucket{le="0.1",model_name="m"}`:  2,
			`sglang:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"}`: 3,
		}},
		{name: "not finite is left out", in: "a 1\nb NaN\nc +Inf\nd -Inf\n", want: map[string]float64{"a": 1}},
		{name: "summary", in: "# TYPE s summary\ns{quantile=\"0.5\"} 7\ns_sum 9\ns_count 2\n",
			want: map[string]float64{`s{quantile="0.5"}`: 7, "s_sum": 9, "s_count": 2}},
		{name: "escapes stay the format's own", in: `a{l="x\"y\\z\nü"} 1` + "\n", want: map[string]float64{`a{l="x\"y\\z\nü"}`: 1}},
		{name: "dots and UTF-8 in names", in: `{"http.löad",a="b"} 2` + "\n", want: map[string]float64{`http.löad{a="b"}`: 2}},
		{name: "no line end", in: "a 1\nb 2", want: map[string]float64{"a": 1, "b": 2}},
		{name: "HTML", in: "<html><body>login</body></html>", err: `begins "<html>`},
		{name: "empty", in: "", err: "no metrics"},
		{name: "a broken line", in: "a 1\nb{ 2\n", err: "line 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse([]byte(tt.in))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// One source answers, one fails, one is slower than the interval, one never
// answers: none of them changes what the tape gets from another.
func TestScrapeSourcesAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		clk := clock.New()
		var slow atomic.Int32
		get := func(ctx context.Context, url string) ([]byte, error) {
			wait := time.Duration(0)
			switch url {
			case "bad":
				return nil, errors.New("connection refused " + strings.Repeat("é", 400))
			case "slow":
				if slow.Add(1) > 1 {
					t.Error("two gets of one source at the same time")
				}
				defer slow.Add(-1)
				wait = 2500 * time.Millisecond
			case "dead":
				wait = time.Hour
			}
			tm := time.NewTimer(wait)
			defer tm.Stop()
			select {
			case <-tm.C:
				return fmt.Appendf(nil, "up %d\n", clk.Now()/1e6), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		clk.AfterFunc(int64(13500*time.Millisecond), cancel)
		at := map[string][]int64{}
		Scrape(ctx, clk, get, []Source{{"good", "good"}, {"bad", "bad"}, {"slow", "slow"}, {"dead", "dead"}}, time.Second,
			func(s *tape.Scrape) {
				at[s.Source] = append(at[s.Source], s.T/1e6)
				switch s.Source {
				case "good":
					if !s.OK || s.Series["up"] != float64(s.T/1e6) {
						t.Errorf("%+v", s)
					}
				case "slow":
					if !s.OK || s.Series["up"] != float64(s.T/1e6+2500) {
						t.Errorf("%+v", s)
					}
				case "bad":
					if s.OK || s.Series != nil || len(s.Error) > maxError+3 || !utf8.ValidString(s.Error) || !strings.Contains(s.Error, "refused") {
						t.Errorf("%+v", s)
					}
				case "dead":
					if s.OK || s.Error != "no answer within 10s" {
						t.Errorf("%+v", s)
					}
				}
			})
		var each []int64
		for ms := int64(0); ms <= 13000; ms += 1000 {
			each = append(each, ms)
		}
		want := map[string][]int64{"good": each, "bad": each, "slow": {0, 3500, 6500, 9500}, "dead": {0}}
		if d := cmp.Diff(want, at); d != "" {
			t.Error(d)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("# TYPE a histogram\na_bucket{le=\"+Inf\"} 3\na_sum 1\na_count 3\n"))
	f.Add([]byte("{\"a.b\",c=\"d\"} 1e300 17\n"))
	f.Add([]byte("a{b=\"\xff\"} nan"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse(text)
		if err != nil && (got != nil || len(bounded(err.Error())) > maxError+3) {
			t.Fatalf("error %v with %d series", err, len(got))
		}
		for k, v := range got {
			if k == "" || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("series %q = %v", k, v)
			}
		}
	})
}
