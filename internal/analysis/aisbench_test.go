package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"tokentape/tape"
)

// TestStableMatchesAISBench feeds starts, ends and tokens of synthetic runs whose
// stable tables AISBench's own calculators (29c363e) printed. testdata holds the
// times rounded to nanoseconds since 1,000 s: [start, end, input, output].
func TestStableMatchesAISBench(t *testing.T) {
	b, err := os.ReadFile("testdata/aisbench_stable.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Cap      int64
		Window   []int64 `json:"window_ns"`
		Members  int64
		Printed  map[string]string
		Requests [][4]int64
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 6 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			s := &script{reason: tape.ReasonCompleted, spec: fmt.Sprintf(`{"load":{"concurrency":%d}}`, c.Cap)}
			for i, r := range c.Requests {
				q := ok(int64(i), r[0], r[1]-r[0])
				q.Tokens.Input, q.Tokens.Output = tape.Some(r[2]), tape.Some(r[3])
				s.reqs = append(s.reqs, q)
			}
			w := windowOf(t, s.analyse(t, Options{Windows: []string{"stable"}}), "stable")
			if c.Window == nil {
				if w.From != nil || !strings.Contains(w.Why, "never full") {
					t.Fatalf("a window %v: %s", num(w.From, 9), w.Why)
				}
				return
			}
			if got := []int64{int64(math.Round(*w.From * 1e9)), int64(math.Round(*w.To * 1e9))}; got[0] != c.Window[0] || got[1] != c.Window[1] {
				t.Errorf("window %v, want %v", got, c.Window)
			}
			if w.Held() != c.Members {
				t.Errorf("%d requests, want %d", w.Held(), c.Members)
			}
			for name, got := range map[string]*float64{
				"Benchmark Duration":      ref(*w.System.DurationS * 1000),
				"Concurrency":             w.System.ConcurrencyMean,
				"Request Throughput":      w.System.RequestsPerS,
				"Input Token Throughput":  w.System.InputTokensPerS,
				"Output Token Throughput": w.System.OutputTokensPerS,
				"Total Token Throughput":  w.System.TotalTokensPerS,
			} {
				printed, ok := c.Printed[name]
				if !ok {
					continue
				}
				v, err := strconv.ParseFloat(strings.Fields(printed)[0], 64)
				if err != nil {
					t.Fatal(err)
				}
				// Four decimals are printed; a nanosecond of rounding moves large ones.
				if math.Abs(*got-v) > max(0.00006, v*1e-7) {
					t.Errorf("%s = %v, printed %s", name, *got, printed)
				}
			}
		})
	}
}
