package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/doctor"
)

// watch looks how fast the machine is until standard input ends.
func watch() doctor.Speed {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent, too
		cancel()
	}()
	return doctor.Watch(ctx, clock.New())
}

// startWatch starts a watch in a process of its own; stop ends it and says what it saw.
func startWatch() (stop func() (*doctor.Speed, error), err error) {
	cmd, stderr, err := start(role{Watch: true})
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() (*doctor.Speed, error) {
		in.Close()
		if err := cmd.Wait(); err != nil {
			return nil, fmt.Errorf("the watch of the machine's speed failed: %w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
		}
		var s doctor.Speed
		return &s, json.Unmarshal(out.Bytes(), &s)
	}, nil
}

// dueLag is when a request was due, by the machine's CLOCK_MONOTONIC, and how long after that
// its first byte was written, both in ns.
type dueLag struct{ At, Lag int64 }

// backlog is for how long after a slow stretch requests are still not counted as due at
// speed: what piled up in it is sent first.
const backlog = 50 * time.Millisecond

// atSpeed are the lags of what was due while the machine ran at its speed: not within a
// stretch, nor so shortly before one that the watch did not see it yet, nor right after.
func atSpeed(all []dueLag, slow []doctor.Stretch) (lag []int64) {
	for _, d := range all {
		if !slices.ContainsFunc(slow, func(s doctor.Stretch) bool {
			return d.At >= s.From-int64(doctor.WatchEvery) && d.At < s.To+int64(backlog)
		}) {
			lag = append(lag, d.Lag)
		}
	}
	return lag
}

// slow is the share of the time from the first request to the last answer in which the
// machine was; NaN where nobody watched.
func (r result) slow() float64 {
	if r.Speed == nil {
		return math.NaN()
	}
	return r.Speed.Slow(r.Served.First, r.Served.Last)
}

// blind is for how long a watch may be kept from looking, in ns, before that is said: a
// stretch may lie in it.
const blind = int64(20 * time.Millisecond)

// mostApart is the longest time between two looks of any of the runs, in ns.
func mostApart(all map[string]runs) (apart int64) {
	for _, some := range all {
		for _, r := range some {
			if r.Speed != nil {
				apart = max(apart, r.Speed.Apart)
			}
		}
	}
	return apart
}

// p99AtSpeed is the 99th percentile of LagAtSpeed in ms; NaN of none.
func (r result) p99AtSpeed() float64 {
	if r.LagAtSpeed == nil {
		return math.NaN()
	}
	return float64(r.LagAtSpeed.P99) / 1e6
}

// watched sends a load with a watch beside it.
func (b *bench) watched(name string, t trial, truths bool) (result, error) {
	stop, err := startWatch()
	if err != nil {
		return result{}, err
	}
	r, err := b.send(name, t, truths)
	speed, watchErr := stop()
	if err != nil || watchErr != nil {
		return r, cmp.Or(err, watchErr)
	}
	r.Speed = speed
	if all := r.Sent.Dues; len(all) > 0 && speed.Looks > 0 {
		lag := atSpeed(all, speed.Stretches)
		r.LagAtSpeed, r.AtSpeed = newLags(lag), float64(len(lag))/float64(len(all))
	}
	r.Sent.Dues = nil // the quantiles are enough to keep
	return r, nil
}
