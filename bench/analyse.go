package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"tokentape/internal/analysis"
	"tokentape/internal/clock"
)

// tapeWork is what a child process does with a tape.
type tapeWork struct {
	Path string `json:"path"`
	Make int64  `json:"make,omitempty"` // write one of so many requests
	Only bool   `json:"only,omitempty"` // decompress and count lines, which is the reference
}

// tapeDone is what that took.
type tapeDone struct {
	Wall  int64 `json:"wall"` // ns
	CPU   int64 `json:"cpu"`  // ns
	RSS   int64 `json:"rss"`  // most memory resident, bytes
	Lines int64 `json:"lines,omitempty"`
}

func (w tapeWork) do() (out tapeDone, err error) {
	clk := clock.New()
	begin, cpu := clk.Now(), processCPU()
	switch {
	case w.Make > 0:
		err = makeTape(w.Path, w.Make)
	case w.Only:
		out.Lines, err = countLines(w.Path)
	default:
		var res *analysis.Results
		if res, err = analysis.AnalyseFile(w.Path, analysis.Options{Charts: true}); err == nil {
			out.Lines = res.Counts.OK
		}
	}
	out.Wall, out.CPU, out.RSS = clk.Now()-begin, processCPU()-cpu, peakRSS()
	return out, err
}

func countLines(path string) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		return 0, err
	}
	defer z.Close()
	buf := make([]byte, 256<<10)
	for {
		k, err := z.Read(buf)
		n += int64(bytes.Count(buf[:k], []byte("\n")))
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// analysis is how long the reading of a tape takes, and in how much memory, beside only
// decompressing it and counting its lines.
func (b *bench) analysis() error {
	t := table{Name: "analysis", Title: fmt.Sprintf("tapes of requests of %d token events each, analysed as at the end of a run", tapeTokens),
		Columns: columns("requests|requests", "tape_mib|tape MiB", "wall_s|wall s", "cpu_s|CPU s", "event_ns|CPU ns/event", "rss_mib|RSS MiB", "lines_s|only lines, wall s", "wall_ratio|÷ only lines", "lines_rss_mib|RSS MiB"),
		Notes:   []string{"medians of runs that took turns; only lines: decompress and count them"}}
	defer b.keepTable(&t)
	dir, err := os.MkdirTemp("", "tokentape-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, n := range pick(b, []int64{1000, 10_000, 100_000, 250_000}, []int64{1000, 10_000}, []int64{20}) {
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl.zst", n))
		var made tapeDone
		if err := ask(role{Tape: &tapeWork{Path: path, Make: n}}, &made); err != nil {
			return err
		}
		var walls, cpus, rss, lines, linesRSS []float64
		for range min(b.pairs, 3) {
			var all, only tapeDone
			if err := ask(role{Tape: &tapeWork{Path: path, Only: true}}, &only); err != nil {
				return err
			}
			if err := ask(role{Tape: &tapeWork{Path: path}}, &all); err != nil {
				return err
			}
			if all.Lines != n || only.Lines != n+2 {
				return fmt.Errorf("a tape of %d requests was read as %d requests in %d lines", n, all.Lines, only.Lines)
			}
			walls, cpus, rss = append(walls, float64(all.Wall)/1e9), append(cpus, float64(all.CPU)/1e9), append(rss, float64(all.RSS)/(1<<20))
			lines, linesRSS = append(lines, float64(only.Wall)/1e9), append(linesRSS, float64(only.RSS)/(1<<20))
		}
		fmt.Fprintf(b.log, "analysis %d\n", n)
		row := record{"requests": n, "wall_s": median(walls), "cpu_s": median(cpus), "event_ns": median(cpus) * 1e9 / float64(n*tapeTokens), "rss_mib": median(rss),
			"lines_s": median(lines), "wall_ratio": newRatio(walls, lines), "lines_rss_mib": median(linesRSS)}
		if info, err := os.Stat(path); err == nil {
			row["tape_mib"] = float64(info.Size()) / (1 << 20)
		}
		t.Rows = append(t.Rows, row)
	}
	return nil
}
