package cli

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/compare"
)

// TestRepeatOrder: every round has every side once, as many rounds begin with one
// side as with the other, give or take one, and the seed alone decides.
func TestRepeatOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds, sides, seed := rapid.IntRange(1, 30).Draw(t, "rounds"), rapid.IntRange(1, 2).Draw(t, "sides"), rapid.Int64().Draw(t, "seed")
		order := repeatOrder(rounds, sides, seed)
		if len(order) != rounds*sides {
			t.Fatalf("%d runs for %d rounds of %d", len(order), rounds, sides)
		}
		first := make([]int, sides)
		for i := 0; i < len(order); i += sides {
			first[order[i]]++
			if sides == 2 && order[i]+order[i+1] != 1 {
				t.Fatalf("round %d runs %v", i/sides, order[i:i+sides])
			}
		}
		if sides == 2 && first[0]-first[1] > 1 || sides == 2 && first[1]-first[0] > 1 {
			t.Fatalf("rounds begin %v times with each side", first)
		}
		again := repeatOrder(rounds, sides, seed)
		for i := range order {
			if order[i] != again[i] {
				t.Fatal("the same seed gave another order")
			}
		}
	})
	seen := map[int]bool{}
	for seed := range int64(40) {
		seen[repeatOrder(1, 2, seed)[0]] = true
	}
	if len(seen) != 2 {
		t.Error("a single round always begins with the same side")
	}
}

func TestRepeatEnding(t *testing.T) {
	for _, c := range []struct {
		codes []int
		want  int
	}{
		{[]int{0, 0}, 0}, {[]int{0, 5, 0}, 5}, {[]int{5, 4}, 4}, {[]int{4, 3}, 3}, {[]int{7, 0}, 7}, {[]int{5, 7}, 5}, {[]int{5, 1}, 1}, {[]int{4, 130}, 130}, {[]int{2}, 2},
	} {
		err := repeatEnding(c.codes, &exitError{code: c.codes[len(c.codes)-1], msg: "x"})
		var e *exitError
		got := 0
		if errors.As(err, &e) {
			got = e.code
		}
		if got != c.want {
			t.Errorf("%v end with %d, want %d", c.codes, got, c.want)
		}
	}
}

func TestTolerances(t *testing.T) {
	var o compare.Options
	if err := setTolerances(&o, []string{"3%", "ttft_ms.p95=10 %", "failed_share=0.001"}); err != nil {
		t.Fatal(err)
	}
	if math.Abs(*o.Tolerance-0.03) > 1e-12 || math.Abs(o.PerMetric["ttft_ms.p95"]-0.1) > 1e-12 || o.PerMetric["failed_share"] != 0.001 {
		t.Errorf("%v, %v", *o.Tolerance, o.PerMetric)
	}
	for _, bad := range []string{"", "x", "-1%", "200%", "NaN", "ttft_ms.p95=", "3%%", "Inf%"} {
		if err := setTolerances(new(compare.Options), []string{bad}); err == nil {
			t.Errorf("--tolerance %q was taken", bad)
		}
	}
}
