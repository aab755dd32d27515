package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/clock"
	"tokentape/simserver"
)

func (a *app) demoCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work: a simulated server, one request, four, then a load",
		Long: `demo starts a simulated SGLang server on a free loopback port and walks the way
from the first request to a report. It needs no network and takes about 15 s.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&out, "out", "runs", "folder under which demo/TIME/ is made")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		return a.demo(ctx, out)
	}
	return cmd
}

// demoStep is one run of the walk.
type demoStep struct {
	name, says string
	flags      []string
}

var demoSteps = []demoStep{
	{"one", "one request: does it answer, and what does it report?",
		[]string{"--requests", "1", "--output-tokens", "32"}},
	{"four", "four requests, at most two in flight, two offered per second",
		[]string{"--requests", "4", "--concurrency", "2", "--rate", "2", "--output-tokens", "32"}},
	{"load", "a load: 200 requests, at most 16 in flight, 20 offered per second: the cap holds some back",
		[]string{"--requests", "200", "--concurrency", "16", "--rate", "20", "--arrivals", "poisson", "--set", "load.conditioned=true", "--output-tokens", "64"}},
}

func (a *app) demo(ctx context.Context, out string) error {
	opts := simserver.Defaults()
	srv, err := simserver.Listen("127.0.0.1:0", opts)
	if err != nil {
		return &exitError{code: exitInternal, msg: "the simulated server cannot listen: " + err.Error()}
	}
	defer srv.Close()
	dir, err := newRunDir(out, "demo", clock.New().Wall())
	if err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	data := dir.file("data.jsonl")
	if err := dir.write("data.jsonl", writeDemoRows); err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	fmt.Fprintf(a.stderr, "a simulated SGLang server listens at %s\n", srv.URL)
	for i, step := range demoSteps {
		fmt.Fprintf(a.stderr, "\n━━ %d of %d · %s\n", i+1, len(demoSteps), step.says)
		args := append([]string{"--url", strings.TrimPrefix(srv.URL, "http://"), "--dataset", data, "--name", step.name}, step.flags...)
		args = append(args, "--set", "workload.sampling={ignore_eos: true}")
		fmt.Fprintf(a.stderr, "$ tokentape run %s --out %s\n", shellWords(args), dir.path)
		if err := a.demoRun(ctx, args, dir.path); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stderr, "\nThe three runs are in %s. The server is gone; the tapes are not:\n", dir.path)
	runs, _ := filepath.Glob(filepath.Join(dir.path, "load", "*"))
	if len(runs) == 1 {
		fmt.Fprintf(a.stderr, "  tokentape report %s --window steady\n", runs[0])
	}
	fmt.Fprintln(a.stderr, "Next, your own server: tokentape run --url HOST:PORT --dataset your.jsonl --output-tokens 32")
	return nil
}

func (a *app) demoRun(ctx context.Context, args []string, out string) error {
	cmd := &cobra.Command{}
	f := addSpecFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	j, err := a.prepare(nil, f, "")
	if err != nil {
		return err
	}
	defer j.close()
	_, err = a.run(ctx, j, runOptions{out: out})
	var e *exitError
	if errors.As(err, &e) && e.code == exitUnfit {
		// The walk worked; the verdict is about how busy this machine was.
		fmt.Fprintf(a.stderr, "tokentape: %s\n  → a run would exit %d here; the demo goes on\n", e.msg, exitUnfit)
		return nil
	}
	return err
}

// shellWords joins arguments so that a shell takes them apart again.
func shellWords(args []string) string {
	out := make([]string, len(args))
	for i, s := range args {
		if out[i] = s; strings.ContainsAny(s, " {}'\"$") {
			out[i] = shellQuote(s)
		}
	}
	return strings.Join(out, " ")
}

// writeDemoRows makes 200 questions that begin with the same material, so that
// the prefix cache has something to hit.
func writeDemoRows(f *os.File) error {
	w := bufio.NewWriter(f)
	material := strings.Repeat("The prefill phase computes the keys and values of the prompt, the decode phase adds one token a step. ", 6)
	for i := range 200 {
		fmt.Fprintf(w, "{\"question\": \"%sQuestion %03d: what limits the throughput of a server, in one sentence?\", \"answer\": \"\"}\n", material, i)
	}
	return w.Flush()
}
