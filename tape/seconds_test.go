package tape

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// Seconds are written as encoding/json writes them, whatever the clock.
func TestSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(
			rapid.Float64(),
			rapid.Map(rapid.Int64Range(-2e15, 2e15), func(ns int64) float64 { return float64(ns) / 1e9 }),
			rapid.Map(rapid.Int64Range(0, 5e6), func(n int64) float64 { return float64(n) / 1e3 }),
			rapid.Map(rapid.Int64Range(0, 5e6), func(n int64) float64 { return float64(n) * 1e-12 }),
		).Draw(t, "seconds")
		want, err := json.Marshal(v)
		if err != nil {
			t.Skip("no number")
		}
		if got := appendSeconds(nil, v); string(got) != string(want) {
			t.Fatalf("%s, encoding/json has %s", got, want)
		}
	})
}
