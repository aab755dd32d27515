package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkLoad is the tool itself on a JSONL of 1 GB, one line of it 5 MB, of
// which 1,000 rows are wanted: every row is read, checked and indexed. peak-MB is
// the largest resident memory of the process, cpu-s its processor time.
//
//	go test -run '^$' -bench Load -benchtime 1x ./cmd/tokentape
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	tool := filepath.Join(dir, "tokentape")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	const size = 1 << 30
	for _, row := range []int{128, 1024, 16384} {
		b.Run(fmt.Sprintf("row=%dB", row), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "big.jsonl")
			rows := writeRows(b, path, size, row)
			b.SetBytes(size)
			var peak int64
			var cpu float64
			for b.Loop() {
				cmd := exec.Command(tool, "plan", "--dataset", path, "--requests", "1000", "--out", filepath.Join(b.TempDir(), "plan.jsonl"))
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
				peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
			}
			b.ReportMetric(float64(peak)/1024, "peak-MB")
			b.ReportMetric(cpu/float64(b.N), "cpu-s")
			b.ReportMetric(float64(rows), "rows")
		})
	}
}

// writeRows writes different rows of about so many bytes each.
func writeRows(b *testing.B, path string, size, row int) (rows int) {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	filler := strings.Repeat("what is the time of day in that town ", 5<<20/37)
	for n := 0; n < size; rows++ {
		fill := row - len(`{"question":"000000000 ","max_tokens":32}`+"\n")
		if rows == 1000 {
			fill = 5 << 20
		}
		k, _ := fmt.Fprintf(w, `{"question":"%09d %s","max_tokens":32}`+"\n", rows, filler[:min(fill, len(filler))])
		n += k
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return rows
}
