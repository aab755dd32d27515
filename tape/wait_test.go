package tape

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestWaitBuckets(t *testing.T) {
	for b := range WaitBuckets {
		hi := WaitEdge(b)
		if WaitBucket(hi) != b {
			t.Fatalf("bucket %d ends at %d, which is in %d", b, hi, WaitBucket(hi))
		}
		if b+1 < WaitBuckets && WaitBucket(hi+1) != b+1 {
			t.Fatalf("%d is in bucket %d, not %d", hi+1, WaitBucket(hi+1), b+1)
		}
	}
	if WaitBucket(-5) != 0 || WaitBucket(math.MaxInt64) != WaitBuckets-1 || WaitEdge(-1) != 0 || WaitEdge(9999) != WaitEdge(WaitBuckets-1) {
		t.Error("the ends")
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, 600e9).Draw(t, "ns")
		if edge := WaitEdge(WaitBucket(v)); edge < v || float64(edge) > float64(v)*1.25 {
			t.Fatalf("%d ns is told as %d", v, edge)
		}
	})
}
