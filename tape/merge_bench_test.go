package tape

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// BenchmarkMerge merges two compressed tapes of requests with 1,024 token events,
// each of which is read twice and written once.
func BenchmarkMerge(b *testing.B) {
	for _, requests := range []int{200, 800} {
		b.Run(fmt.Sprint(requests, "requests"), func(b *testing.B) {
			var paths []string
			for k := range 2 {
				h := begun(fmt.Sprint("r", k), "h", float64(k)*1000)
				path := filepath.Join(b.TempDir(), h.Run)
				w, err := Create(path, true)
				must(b, err)
				must(b, w.Write(&h))
				for i := range requests {
					must(b, w.Write(stream(int64(i), 1024)))
					must(b, w.Flush())
				}
				must(b, w.Write(&Footer{Reason: ReasonCompleted, Planned: int64(requests), OK: int64(requests), TEnd: 1}))
				must(b, w.Close())
				paths = append(paths, path)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				w := NewWriter(io.Discard, true)
				if _, err := Merge(w, paths, MergeOptions{}); err != nil {
					b.Fatal(err)
				}
				must(b, w.Close())
			}
			perEvent(b, 2*requests*1028)
		})
	}
}
