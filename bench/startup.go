package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"tokentape/internal/clock"
	"tokentape/tape"
)

// startup is how long the program takes until something is seen of it. The reference is
// this program, started to do nothing.
func (b *bench) startup() error {
	dir, err := os.MkdirTemp("", "tokentape-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	exe := b.tokentape
	if b.tokentape == "" {
		exe = filepath.Join(dir, "tokentape")
		if out, err := exec.Command("go", "build", "-o", exe, "tokentape/cmd/tokentape").CombinedOutput(); err != nil {
			return fmt.Errorf("go build tokentape/cmd/tokentape: %w; start it in the repository, or name a binary by -tokentape\n%s", err, bytes.TrimSpace(out))
		}
	}
	var help, nothing, demo []float64
	for range pick(b, 21, 21, 3) {
		own, _, err := start(role{Nothing: true})
		if err != nil {
			return err
		}
		for cmd, to := range map[*exec.Cmd]*[]float64{own: &nothing, exec.Command(exe, "--help"): &help} {
			begin := b.clk.Now()
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%v: %w", cmd.Args, err)
			}
			*to = append(*to, float64(b.clk.Now()-begin)/1e6)
		}
	}
	for i := range pick(b, 5, 3, 1) {
		ms, err := firstRequest(b.clk, exe, filepath.Join(dir, fmt.Sprint("demo", i)))
		if err != nil {
			return err
		}
		demo = append(demo, ms)
		fmt.Fprintf(b.log, "startup: demo %d\n", i+1)
	}
	t := table{Name: "startup", Title: "from the start of the process, ms",
		Columns: columns("what|what", "median|median", "least|least", "most|most", "ratio|÷ bare", "runs|runs"),
		Notes:   []string{"bare: a Go program that ends at once; first request: its release, by the demo's first tape"}}
	for _, w := range []struct {
		what   string
		values []float64
	}{{"tokentape --help", help}, {"bare", nothing}, {"tokentape demo, first request", demo}} {
		row := record{"what": w.what, "median": median(w.values), "least": slices.Min(w.values), "most": slices.Max(w.values), "runs": len(w.values)}
		if w.what != "bare" {
			row["ratio"] = over(median(w.values), median(nothing))
		}
		t.Rows = append(t.Rows, row)
	}
	b.tables = append(b.tables, t)
	b.goals = append(b.goals,
		goal{Case: "startup", Text: "tokentape --help", Value: median(help), Limit: 15, Unit: "ms"},
		goal{Case: "startup", Text: "the demo's first request", Value: median(demo), Limit: 300, Unit: "ms"})
	return nil
}

// firstRequest is the time from the start of a demo to the release of its first request,
// in ms. The demo is ended once its first tape is whole.
func firstRequest(clk *clock.Clock, exe, out string) (ms float64, err error) {
	cmd := exec.Command(exe, "demo", "--out", out)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	begin := clk.Machine(clk.Now())
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	// The first run is over when the second one is announced.
	var said bytes.Buffer
	buf := make([]byte, 4<<10)
	for !bytes.Contains(said.Bytes(), []byte("2 of 3")) {
		n, err := stderr.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			return 0, errors.Join(fmt.Errorf("the demo ended before its second step: %s", said.Bytes()), cmd.Wait())
		}
	}
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, stderr)
	_ = cmd.Wait() // killed, as it says
	tapes, _ := filepath.Glob(filepath.Join(out, "demo", "*", "one", "*", "tape.jsonl*"))
	if len(tapes) != 1 {
		return 0, fmt.Errorf("the demo's first tape is not below %s", out)
	}
	rd, err := tape.OpenFile(tapes[0])
	if err != nil {
		return 0, err
	}
	defer rd.Close()
	var epoch int64
	for {
		rec, err := rd.Next()
		if err != nil {
			return 0, fmt.Errorf("%s holds no request: %w", tapes[0], err)
		}
		switch r := rec.(type) {
		case *tape.Header:
			epoch = r.Anchor.Machine
		case *tape.Request:
			if r.Phase == tape.PhaseMeasure {
				return float64(epoch+r.TReleased.V-begin) / 1e6, nil
			}
		}
	}
}
