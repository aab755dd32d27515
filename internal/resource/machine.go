package resource

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Here reads this machine, and raises the process's soft limit of descriptors to
// its hard one, where the Go runtime has not done so already.
func Here() Machine {
	m := Machine{TimeWait: time.Minute} // Linux: TCP_TIMEWAIT_LEN
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		m.Shell = shellLimit()
		if r.Cur < r.Max && unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: r.Max, Max: r.Max}) == nil {
			r.Cur = r.Max
		}
		m.Soft, m.Hard = clamp(r.Cur), clamp(r.Max)
	}
	if d, err := os.ReadDir("/proc/self/fd"); err == nil {
		m.Open = int64(len(d)) - 1 // the one that lists them
	}
	var lo, hi int64
	if _, err := fmt.Sscan(read("/proc/sys/net/ipv4/ip_local_port_range"), &lo, &hi); err == nil && hi >= lo {
		m.Ports = hi - lo + 1
	}
	m.Waiting = after(read("/proc/net/sockstat"), "tw")
	info := read("/proc/meminfo")
	m.Memory, m.Available = after(info, "MemTotal:")<<10, after(info, "MemAvailable:")<<10
	if limit, used, ok := cgroup(); ok && (m.Memory == 0 || limit < m.Memory) {
		m.Memory, m.Available = limit, min(m.Available, max(limit-used, 0))
	}
	return m
}

func clamp(v uint64) int64 { return int64(min(v, 1<<40)) }

// shellLimit is the soft limit that a child gets. The runtime raises its own at
// start and gives children the old one, so that only a child can tell.
func shellLimit() int64 {
	out, err := exec.Command("/bin/sh", "-c", "ulimit -Sn").Output()
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64) // "unlimited" is no limit
	return n
}

// cgroup is the memory limit of version 2, or of version 1.
func cgroup() (limit, used int64, ok bool) {
	for _, f := range [][2]string{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, err := strconv.ParseInt(strings.TrimSpace(read(f[0])), 10, 64) // "max" is no limit
		if err != nil || limit <= 0 {
			continue
		}
		used, _ := strconv.ParseInt(strings.TrimSpace(read(f[1])), 10, 64)
		return limit, used, true
	}
	return 0, 0, false
}

// after is the number behind a word.
func after(text, word string) int64 {
	fields := strings.Fields(text)
	for i, f := range fields {
		if f == word && i+1 < len(fields) {
			n, _ := strconv.ParseInt(fields[i+1], 10, 64)
			return n
		}
	}
	return 0
}

func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}
