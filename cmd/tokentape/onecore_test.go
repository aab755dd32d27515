package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/tape"
)

// B12: 500 streams of 200 events a second each on one core (GOMAXPROCS=1). Whether
// the client keeps up is up to the machine; what holds on any: no event is lost, each
// stream's stamps are in order, CPU, scheduling latency, send lag and GC pauses are
// in the results, and the verdict calls the client the bottleneck exactly when one
// of them is beyond its limit, with the CPU measured against that one core. It runs
// with TOKENTAPE_SLOW=1.
func TestB12OneCore(t *testing.T) {
	if os.Getenv("TOKENTAPE_SLOW") != "1" {
		t.Skip("NOT RUN: it takes all cores for some seconds; set TOKENTAPE_SLOW=1 to run it")
	}
	const streams, tokens = 500, 600
	dir := t.TempDir()
	tool := filepath.Join(dir, "tokentape")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sim := exec.Command(tool, "sim", "--addr", "127.0.0.1:0", "--for", "2m", "--slots", "1000", "--prefill-fixed-ms", "1", "--prefill-us-per-token", "0",
		"--decode-base-ms", "5", "--decode-per-seq-us", "0")
	out, err := sim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	defer sim.Wait()
	defer sim.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	url := strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(url, "http://") {
		t.Fatalf("%q %v", line, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "q.txt"), []byte(strings.Repeat("why?\n", 10)), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "run", "--url", url, "--dataset", "q.txt", "--repeat", "cycle", "--requests", "500", "--concurrency", "500",
		"--output-tokens", "600", "--set", "workload.sampling.ignore_eos=true", "--name", "one", "--no-live", "--json")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOMAXPROCS=1")
	var said strings.Builder
	cmd.Stderr = &said
	b, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 5 {
		t.Fatalf("exit %d (%v)\n%s", code, err, &said)
	}
	var res analysis.Results
	if err := json.Unmarshal(b, &res); err != nil {
		t.Fatal(err)
	}
	l := res.Load
	if l.CPUMean == nil || l.SchedP99MS == nil || l.PacerLagP99MS == nil || l.GCPauseMS == nil {
		t.Fatalf("the client's health is not in the results: %+v", l)
	}
	for _, c := range res.Verdict.Checks {
		if c.Name != "client_bound" {
			continue
		}
		if !strings.Contains(c.Why, "of 1 cores (limit 0.90)") && *l.CPUMean > 0.9 {
			t.Errorf("CPU is not judged by one core: %s", c.Why)
		}
		over := *l.CPUMean > 0.9 || *l.SchedP99MS > 10 || c.Value != nil && *c.Value > *c.Limit || // of sends after the start
			l.ClientWaitP99MS != nil && *l.ClientWaitReads >= 100 && *l.ClientWaitP99MS > 2
		if over != (c.Result == analysis.ResultMiss) || over != strings.Contains(res.Verdict.Line, "client-bound") {
			t.Errorf("CPU %v, scheduling %v ms, pacer lag %v ms: %+v\n%s", *l.CPUMean, *l.SchedP99MS, *l.PacerLagP99MS, c, res.Verdict.Line)
		}
		t.Log(c.Result, c.Why)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "runs", "one", "*", "tape.jsonl*"))
	if len(paths) != 1 {
		t.Fatalf("tapes: %v", paths)
	}
	rd, err := tape.OpenFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	n := 0
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		q, ok := rec.(*tape.Request)
		if !ok {
			continue
		}
		n++
		events := 0
		for _, kind := range q.Events.Kinds() {
			if tape.IsToken(kind) {
				events++
			}
		}
		if err := q.Check(); err != nil || q.Outcome != tape.OutcomeOK || events != tokens || q.Tokens.Output != tape.Some[int64](tokens) {
			t.Errorf("request %d: %s %s, %d token events, %+v, %v", q.Seq, q.Outcome, q.Message, events, q.Tokens, err)
		}
	}
	if n != streams {
		t.Errorf("%d requests", n)
	}
}
