package stat

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// A histogram of all values is the sum of histograms of parts of them, one by one
// or many at once.
func TestHistogramParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one, all Histogram
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			vs := rapid.SliceOf(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 5e7))).Draw(t, "values")
			var part Histogram
			part.AddAll(vs)
			all.Merge(&part)
			for _, v := range vs {
				one.Add(v)
			}
		}
		n := max(len(one.bins), len(all.bins))
		one.grow(n)
		all.grow(n)
		for i := range n {
			if one.bins[i] != all.bins[i] {
				t.Fatalf("bin %d: %d and %d", i, one.bins[i], all.bins[i])
			}
		}
		one.bins, all.bins = nil, nil
		if !reflect.DeepEqual(one, all) {
			t.Fatalf("%+v, by parts %+v", one, all)
		}
	})
}
