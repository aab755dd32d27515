package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync/atomic"

	"tokentape/internal/analysis"
	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/plan"
	"tokentape/internal/provenance"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/telemetry"
	"tokentape/internal/workload/rows"
	"tokentape/tape"
)

// ours is tokentape's own way from a spec to a tape on disk, as the verb run goes it:
// dataset, plan, pacer, exchange, client samples, kernel stamps, recorder. What comes
// before the load (probe, preflight) and after it is left out, and so are run.log and the
// live view, which are told of ends and not of events.
func ours(l load) (out sent, err error) {
	dir, err := os.MkdirTemp("", "tokentape-bench-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := l.spec(dir)
	if err != nil {
		return out, err
	}
	d, err := dialect.New(s.Target.API, dialect.Setup{Model: s.Target.Model, Stream: s.Workload.Stream})
	if err != nil {
		return out, err
	}
	source, err := rows.Open(s.Workload, s.Seeds.Run, nil)
	if err != nil {
		return out, err
	}
	defer source.Close()
	p, err := plan.MakeOf(s.Load, s.Workload.OutputTokens, plan.Data{Rows: source.Len()}, s.Workload.Repeat, s.Workload.Order, s.Seeds)
	if err != nil {
		return out, err
	}
	path := filepath.Join(dir, "tape.jsonl.zst")
	w, err := tape.Create(path, s.Record.Compress)
	if err != nil {
		return out, err
	}
	clk := clock.NewPrecise()
	host := provenance.Host("/", os.LookupEnv, clk.Wall())

	if l.Profile != "" {
		f, err := os.Create(l.Profile)
		if err != nil {
			return out, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return out, err
		}
	}
	out.RSSIdle = peakRSS()
	cpu := processCPU()
	undo := run.Tune()
	waits := &telemetry.Waits{}
	net := client.Config{Clock: clk, MaxIdle: client.IdleOf(s.Load.Concurrency), IdleTimeout: s.Limits.KeepAlive.D(), Connect: s.Limits.Connect.D()}
	net.Waited, net.WaitedOf = waits.Asked(s.Telemetry.KernelStamps)
	c := client.New(net)
	defer c.Close()
	var tokens atomic.Int64
	x := exchange.New(exchange.Config{
		Client: c, Dialect: d, Clock: clk, URL: s.Target.URL,
		Options: dialect.Options{Model: s.Target.Model, Stream: s.Workload.Stream, OutputLen: s.Workload.OutputTokens, LengthField: s.Target.MaxTokensField, Sampling: s.Workload.Sampling},
		Limits:  exchange.Limits{FirstToken: s.Limits.FirstToken.D(), Idle: s.Limits.Idle.D(), Total: s.Limits.Total.D()},
		Output:  s.Record.Output, OnTokens: func(n int, _ int64) { tokens.Add(int64(n)) },
		IDHeader: s.Target.RequestIDHeader,
	})
	cfg := run.Config{
		Clock: clk, Plan: p, Source: source, Exchange: x, Tape: w, ReadStamp: c.ReadStamp(),
		Header:      tape.Header{Type: "header", Schema: tape.Schema, Run: "bench", Name: s.Name, Spec: s.JSON(), Host: host},
		Concurrency: p.Params.Concurrency, Attempts: int(s.Load.Attempts), Drain: s.Limits.Drain.D(), Tokens: tokens.Load,
		Samplers: []run.Sampler{func(ctx context.Context, gauges func() run.Gauges, emit func(any)) {
			telemetry.Client(ctx, clk, s.Telemetry.Interval.D(), func() telemetry.Gauges { return telemetry.Gauges(gauges()) },
				func(c *tape.ClientSample) { c.Wait = waits.Take(); emit(c) })
		}},
	}
	sum, err := run.Run(context.Background(), cfg)
	out.CPU, out.RSS = processCPU()-cpu, peakRSS()
	if took := clk.Now(); l.Lags && took > 0 { // run.Run began the clock's epoch
		out.PacerCores = float64(clk.WaitCPU()) / float64(took)
	}
	pprof.StopCPUProfile()
	undo()
	if err != nil {
		return out, err
	}
	out.OK, out.Failed = sum.Footer.OK, l.Requests-sum.Footer.OK
	if sum.FirstFailure != nil {
		out.Why = fmt.Sprintf("%s %s: %s", sum.FirstFailure.Outcome, sum.FirstFailure.Cause, sum.FirstFailure.Message)
	}
	if info, err := os.Stat(path); err == nil {
		out.Tape = info.Size()
	}
	return out, l.after(&out, path, clk)
}

// spec is the load as a spec with a dataset of its own.
func (l load) spec(dir string) (*spec.Spec, error) {
	data := filepath.Join(dir, "data.jsonl")
	n := min(l.Requests, 1000)
	if l.Prompt > 0 {
		n = min(l.Requests, bodyRows)
	}
	if err := writeRows(data, l, n); err != nil {
		return nil, err
	}
	sets := []spec.Set{
		{Path: "target.url", Value: l.URL}, {Path: "target.model", Value: "bench"},
		{Path: "workload.dataset.path", Value: data}, {Path: "workload.repeat", Value: "cycle"},
		{Path: "workload.output_tokens", Value: fmt.Sprint(l.Events)},
		{Path: "workload.sampling", Value: "{ignore_eos: true}"},
		{Path: "load.requests", Value: fmt.Sprint(l.Requests)},
	}
	if l.Rate > 0 {
		sets = append(sets, spec.Set{Path: "load.rate", Value: fmt.Sprint(l.Rate)})
	}
	if l.Concurrency > 0 {
		sets = append(sets, spec.Set{Path: "load.concurrency", Value: fmt.Sprint(l.Concurrency)})
	}
	s, issues := spec.Read("", func(string) (string, bool) { return "", false }, sets)
	for _, i := range issues {
		if !i.Warning {
			return nil, i
		}
	}
	return s, nil
}

// after reads back from the tape what the case wants to know. It is no part of what is
// measured.
func (l load) after(out *sent, path string, clk *clock.Clock) error {
	if l.Lags || l.Stamps != "" {
		all, dues, err := readStamps(path, clk)
		if err != nil {
			return err
		}
		if l.Lags {
			if l.Dues {
				out.Dues = dues
			}
			lag := make([]int64, len(dues))
			for i, d := range dues {
				lag[i] = d.Lag
			}
			out.Lag = newLags(lag)
		}
		if l.Stamps != "" {
			if err := writeGob(l.Stamps, all); err != nil {
				return err
			}
		}
	}
	if !l.Verdict {
		return nil
	}
	res, err := analysis.AnalyseFile(path, analysis.Options{NoCI: true})
	if err != nil {
		return err
	}
	out.ClientWait = res.Load.ClientWaitP99MS
	for _, c := range res.Verdict.Checks {
		if c.Name == "client_bound" {
			out.Verdict, out.Why = c.Result, c.Why
		}
	}
	return nil
}

func readStamps(path string, clk *clock.Clock) (all []stamps, dues []dueLag, err error) {
	rd, err := tape.OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	defer rd.Close()
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			return all, dues, nil
		}
		if err != nil {
			return nil, nil, err
		}
		q, ok := rec.(*tape.Request)
		if !ok {
			continue
		}
		if v := q.PacerLag(); v.OK {
			dues = append(dues, dueLag{clk.Machine(q.TReady.V), v.V})
		}
		x := stamps{ID: q.ID, Released: clk.Machine(q.TReleased.V)}
		for _, e := range q.Events.All(q.EventsFrom().V) {
			if tape.IsToken(e.Kind) {
				x.Events = append(x.Events, clk.Machine(e.T))
			}
		}
		all = append(all, x)
	}
}
