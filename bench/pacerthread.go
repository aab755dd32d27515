package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pacerThread finds the processor time of the thread that waits for due times. It alone
// asks the kernel for no timer slack.
type pacerThread struct {
	wanted bool
	cpu    int64 // ns, as last seen
}

func watchPacer(wanted bool) *pacerThread { return &pacerThread{wanted: wanted} }

// look reads it. A kernel that shows neither timer slack nor schedstat leaves it 0.
func (p *pacerThread) look() {
	if !p.wanted {
		return
	}
	tasks, _ := filepath.Glob("/proc/self/task/[0-9]*")
	for _, task := range tasks {
		slack, err := os.ReadFile("/proc/" + filepath.Base(task) + "/timerslack_ns")
		if err != nil || strings.TrimSpace(string(slack)) != "1" {
			continue
		}
		stat, _ := os.ReadFile(task + "/schedstat")
		ns, _, _ := strings.Cut(string(stat), " ")
		if cpu, err := strconv.ParseInt(ns, 10, 64); err == nil {
			p.cpu = max(p.cpu, cpu)
		}
	}
}
