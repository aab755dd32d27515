package aisbench_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"testing"

	exporter "tokentape/internal/exporter/aisbench"
	importer "tokentape/internal/importer/aisbench"
	"tokentape/tape"
)

// BenchmarkImport reads a result of many details rows of 1,000 time points each.
// TOKENTAPE_AISBENCH_ROWS sets their number: 250000 is the full size, 2.05 GB of
// databases, and goes beyond the byte at 1 GiB that SQLite never stores at.
//
//	TOKENTAPE_AISBENCH_ROWS=250000 go test -run '^$' -bench Import -benchtime 1x ./internal/exporter/aisbench
func BenchmarkImport(b *testing.B) {
	rows := 500
	if s := os.Getenv("TOKENTAPE_AISBENCH_ROWS"); s != "" {
		var err error
		if rows, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	const points = 1000
	dir := filepath.Join(b.TempDir(), "performances/m")
	if err := os.MkdirAll(filepath.Join(dir, "db_data"), 0o755); err != nil {
		b.Fatal(err)
	}
	details, err := os.Create(filepath.Join(dir, "demo_details.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer details.Close()
	r := rand.New(rand.NewPCG(1, 2))
	t := make([]float64, points)
	insert, done := exporter.Databases(b, filepath.Join(dir, "db_data/0a1b2c3d.db"))
	for i := range rows {
		ns := int64(1e14) + int64(i)*1e7 + r.Int64N(1e9) // perf_counter has nanoseconds
		for k := range points {
			t[k] = float64(ns) / 1e9
			ns += 2e7 + r.Int64N(5e6)
		}
		ref := insert(t)
		fmt.Fprintf(details, `{"data_abbr": "demo", "id": %d, "success": true, "error_info": "", "time_points": {"__db_ref__": %d}, "input_tokens": 4096, "output_tokens": 999, "extra_perf_data": {}, "extra_details_data": {}, "input": "q", "uuid": "%032x", "turn_id": 0, "prediction": "x", "db_name": "0a1b2c3d.db"}`+"\n", i, ref, i)
	}
	done()
	out := filepath.Join(dir, "out.zst")
	b.SetBytes(int64(rows) * points * 8)
	b.ResetTimer()
	for range b.N {
		f, err := os.Create(out)
		if err != nil {
			b.Fatal(err)
		}
		w := tape.NewBulkWriter(f)
		s, err := importer.Write(w, dir, importer.Options{Cap: 90})
		if err != nil || s.OK != int64(rows) || w.Close() != nil || f.Close() != nil {
			b.Fatal(s, err)
		}
	}
	b.StopTimer()
	m := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(m)
	b.ReportMetric(float64(m[0].Value.Uint64())/(1<<20), "MiB")
	if st, err := os.Stat(out); err == nil {
		b.ReportMetric(float64(st.Size())/(1<<20), "tape-MiB")
	}
}
