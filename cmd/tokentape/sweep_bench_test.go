package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tokentape/simserver"
	"tokentape/tape"
)

// BenchmarkSweep is what a sweep of seven points of 200 requests takes beyond the time
// in which their requests were sent and answered (beyond-s): reading the spec and the rows,
// preflights, analyses and reports. cpu-s is the processor time of the whole command, the
// load included: on a machine that others keep busy beyond-s is also the wait for them.
//
//	go test -run '^$' -bench Sweep -benchtime 3x ./cmd/tokentape
func BenchmarkSweep(b *testing.B) {
	dir := b.TempDir()
	tool := filepath.Join(dir, "tokentape")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	o := simserver.Defaults()
	if err := json.Unmarshal([]byte(`{"decode_base_ns":2000000}`), &o); err != nil {
		b.Fatal(err)
	}
	srv, err := simserver.Listen("127.0.0.1:0", o)
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	data := filepath.Join(dir, "data.jsonl")
	if out, err := exec.Command(tool, "dataset", "build", "--tokenizer", "sim", "--out", data, "--requests", "1400", "--input", "128", "--output-len", "8").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	var beyond, own, cpu float64
	for b.Loop() {
		out, err := os.MkdirTemp(dir, "runs")
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(tool, "sweep", "--url", srv.URL, "--dataset", data, "--over", "load.concurrency=1,2,4,8,16,32,64", "--each", "200",
			"--out", out, "--no-live")
		begun := time.Now()
		said, err := cmd.CombinedOutput()
		took := time.Since(begun).Seconds()
		cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 5) {
			b.Fatalf("%v\n%s", err, said)
		}
		tapes, _ := filepath.Glob(filepath.Join(out, "*/*/points/*/tape.jsonl.zst"))
		if len(tapes) != 7 {
			b.Fatalf("%d tapes\n%s", len(tapes), said)
		}
		for _, path := range tapes {
			s, err := spanOf(path)
			if err != nil {
				b.Fatal(err)
			}
			own, took = own+s, took-s
		}
		beyond += took
	}
	b.ReportMetric(beyond/float64(b.N), "beyond-s")
	b.ReportMetric(own/float64(b.N), "points-s")
	b.ReportMetric(cpu/float64(b.N), "cpu-s")
}

// spanOf is when the last request of a tape had ended, in seconds of its clock.
func spanOf(path string) (float64, error) {
	r, err := tape.OpenFile(path)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("%s has no footer", path)
		}
		if err != nil {
			return 0, err
		}
		if f, ok := rec.(*tape.Footer); ok {
			return float64(f.TEnd) / 1e9, nil
		}
	}
}
