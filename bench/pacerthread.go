package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tokentape/internal/clock"
)

// pacerThread finds the processor time of the thread that waits for due times: it alone
// asks the kernel for no timer slack.
type pacerThread struct {
	first, last struct{ at, cpu int64 } // ns
}

// watch looks ten times a second until ctx is done.
func (p *pacerThread) watch(ctx context.Context, clk *clock.Clock) {
	clk.Tick(ctx, 100_000_000, func(now int64) {
		cpu := threadWithoutSlack()
		switch {
		case cpu < 0:
		case p.first.at == 0:
			p.first.at, p.first.cpu = now, cpu
			fallthrough
		default:
			p.last.at, p.last.cpu = now, cpu
		}
	})
}

// cores is what the thread took; 0 when it was not seen twice.
func (p *pacerThread) cores() float64 {
	if p.last.at <= p.first.at {
		return 0
	}
	return float64(p.last.cpu-p.first.cpu) / float64(p.last.at-p.first.at)
}

// threadWithoutSlack is the processor time, in ns, of this process's thread that has a
// timer slack of 1 ns; −1 when there is none, or the kernel shows neither.
func threadWithoutSlack() int64 {
	tasks, _ := filepath.Glob("/proc/self/task/[0-9]*")
	for _, task := range tasks {
		slack, err := os.ReadFile("/proc/" + filepath.Base(task) + "/timerslack_ns")
		if err != nil || strings.TrimSpace(string(slack)) != "1" {
			continue
		}
		stat, _ := os.ReadFile(task + "/schedstat")
		ns, _, _ := strings.Cut(string(stat), " ")
		if cpu, err := strconv.ParseInt(ns, 10, 64); err == nil {
			return cpu
		}
	}
	return -1
}
