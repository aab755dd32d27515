package provenance

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"tokentape/tape"
)

// Bounds of what is read and kept, in bytes.
const (
	maxFile = 16 << 20 // /proc/cpuinfo of a thousand processors has 2 MiB
	maxWord = 200
)

// machine is what files below a root and the environment say. The root is "/" but in
// tests.
type machine struct {
	root string
	env  func(string) (string, bool)
}

// Host describes the machine and its limits as they are now. Files are read below
// root ("/"); env is the environment; now gives the time zone. What cannot be read is
// absent.
func Host(root string, env func(string) (string, bool), now time.Time) tape.Host {
	m := machine{root, env}
	h := tape.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0)} // a container's limit, too
	h.Name, _ = os.Hostname()
	h.Name = word(h.Name)
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		h.NoFile = int64(min(r.Cur, math.MaxInt64))
	}
	if ports := m.numbers("proc/sys/net/ipv4/ip_local_port_range"); len(ports) == 2 && ports[1] >= ports[0] {
		h.Ports = int64(ports[1]-ports[0]) + 1
	}
	h.Distribution = m.distribution()
	virtual := m.processors(&h)
	h.Governor = m.governor()
	h.ClockSource = m.word("sys/devices/system/clocksource/clocksource0/current_clocksource")
	h.Memory, h.Available = m.memory()
	h.Quota, h.MemoryLimit = m.limits()
	h.Container = m.container()
	h.Hypervisor = m.hypervisor(virtual)
	h.Steal = m.steal()
	if load := m.numbers("proc/loadavg"); len(load) >= 3 {
		h.Load = load[:3]
	}
	h.Zone = zone(now)
	h.NTP = synchronised()
	h.MaxProcs, h.GC = int64(runtime.GOMAXPROCS(0)), "default"
	if v, ok := env("GOGC"); ok && v != "" {
		h.GC = word(v)
	}
	return h
}

// read is the beginning of a file; "" where there is none.
func (m machine) read(path string) string {
	f, err := os.Open(filepath.Join(m.root, path))
	if err != nil {
		return ""
	}
	defer f.Close()
	return readUpTo(f, maxFile)
}

func (m machine) exists(path string) bool {
	_, err := os.Stat(filepath.Join(m.root, path))
	return err == nil
}

// word is the text of a file as one short line.
func (m machine) word(path string) string { return word(m.read(path)) }

// numbers are those at the beginning of a file, up to the first word that is none.
func (m machine) numbers(path string) []float64 {
	var out []float64
	for _, w := range strings.Fields(m.read(path)) {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil || v-v != 0 {
			break
		}
		out = append(out, v)
	}
	return out
}

// word is a text as one short line that cannot steer a terminal.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxWord {
		s = strings.ToValidUTF8(s[:maxWord], "") + " …"
	}
	return s
}

// distribution is PRETTY_NAME of os-release.
func (m machine) distribution() string {
	for _, path := range []string{"etc/os-release", "usr/lib/os-release"} {
		for line := range strings.Lines(m.read(path)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				return word(strings.Trim(v, `"'`))
			}
		}
	}
	return ""
}

// processors reads the processors; virtual: they say that they are those of a virtual
// machine.
func (m machine) processors(h *tape.Host) (virtual bool) {
	type core struct{ socket, core string }
	cores := map[core]bool{}
	var at core
	end := func() {
		if at.core != "" {
			cores[at] = true
		}
		at = core{}
	}
	for line := range strings.Lines(m.read("proc/cpuinfo")) {
		key, v, _ := strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		switch strings.TrimSpace(key) {
		case "processor":
			end()
			h.Logical++
		case "model name", "cpu model":
			if h.CPUModel == "" {
				h.CPUModel = word(v)
			}
		case "physical id":
			at.socket = v
		case "core id":
			at.core = v
		case "flags":
			virtual = virtual || slices.Contains(strings.Fields(v), "hypervisor")
		}
	}
	end()
	h.Cores = int64(len(cores))
	if h.Cores == 0 { // ARM names them elsewhere
		h.Cores = m.topology()
	}
	if h.CPUModel == "" {
		h.CPUModel = m.word("proc/device-tree/model")
	}
	return virtual
}

// topology counts physical cores by /sys.
func (m machine) topology() int64 {
	seen := map[string]bool{}
	for _, dir := range m.cpus() {
		if core := m.word(filepath.Join(dir, "topology/core_id")); core != "" {
			seen[m.word(filepath.Join(dir, "topology/physical_package_id"))+" "+core] = true
		}
	}
	return int64(len(seen))
}

// cpus are the folders of the processors, at most 1,024 of them.
func (m machine) cpus() []string {
	dirs, _ := filepath.Glob(filepath.Join(m.root, "sys/devices/system/cpu/cpu[0-9]*"))
	var out []string
	for _, d := range dirs[:min(len(dirs), 1024)] {
		if rel, err := filepath.Rel(m.root, d); err == nil {
			out = append(out, rel)
		}
	}
	return out
}

// governor is that of all processors; several, if they differ.
func (m machine) governor() string {
	var seen []string
	for _, dir := range m.cpus() {
		if g := m.word(filepath.Join(dir, "cpufreq/scaling_governor")); g != "" && !slices.Contains(seen, g) {
			seen = append(seen, g)
		}
	}
	slices.Sort(seen)
	return word(strings.Join(seen, ", "))
}

// memory is all of it, and what is available, in bytes.
func (m machine) memory() (total, available int64) {
	for line := range strings.Lines(m.read("proc/meminfo")) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64>>10 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			total = n << 10
		case "MemAvailable:":
			available = n << 10
		}
	}
	return total, available
}

// steal is the share of all processor time since the start that went to others.
func (m machine) steal() tape.Opt[float64] {
	line, _, _ := strings.Cut(m.read("proc/stat"), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return tape.Opt[float64]{}
	}
	var all, steal float64
	for i, w := range f[1:9] { // user nice system idle iowait irq softirq steal
		v, err := strconv.ParseFloat(w, 64)
		if err != nil || v < 0 || v-v != 0 {
			return tape.Opt[float64]{}
		}
		if all += v; i == 7 {
			steal = v
		}
	}
	if all == 0 {
		return tape.Opt[float64]{}
	}
	return tape.Some(steal / all)
}

// zone is the local time's name and offset.
func zone(now time.Time) string {
	if now.IsZero() {
		return ""
	}
	return word(now.Local().Format("MST -07:00"))
}

// synchronised is whether the kernel takes its clock for kept in step; asking changes
// nothing.
func synchronised() tape.Opt[bool] {
	const unsync = 0x40 // STA_UNSYNC
	var t unix.Timex
	if state, err := unix.Adjtimex(&t); err == nil {
		return tape.Some(state != unix.TIME_ERROR && t.Status&unsync == 0)
	}
	return tape.Opt[bool]{}
}
