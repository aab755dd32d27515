package tape

import "math/bits"

// ClientWait is how long bytes lay in the client's kernel before the client read
// them, over an interval: a histogram of reads. Where segments were joined in the
// kernel a read's wait is that of the newest one, so that each is a lower bound.
type ClientWait struct {
	// Reads are pairs of a bucket (see WaitBucket) and the reads in it, in order of
	// buckets, those without reads left out.
	Reads [][2]int64 `json:"reads"`
	Max   int64      `json:"max_ns"`
}

// waitBits: a bucket spans at most a quarter of its lower edge.
const waitBits = 2

// WaitBuckets is how many buckets there are; the last holds what is longer, too.
const WaitBuckets = 160

// WaitBucket is the bucket of a wait in ns: 0, 1, 2 and 3 ns have their own, from there
// on each doubling has four. Below 0 counts as 0.
func WaitBucket(ns int64) int {
	if ns < 1<<waitBits {
		return int(max(ns, 0))
	}
	e := bits.Len64(uint64(ns)) - 1 - waitBits
	return min(e<<waitBits+int(ns>>e), WaitBuckets-1)
}

// WaitEdge is the longest wait, in ns, that falls into a bucket.
func WaitEdge(bucket int) int64 {
	bucket = min(max(bucket, 0), WaitBuckets-1)
	if bucket < 1<<waitBits {
		return int64(bucket)
	}
	e := bucket>>waitBits - 1
	return int64(bucket-e<<waitBits+1)<<e - 1
}
