package doctor

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tokentape/internal/resource"
	"tokentape/tape"
)

// Counters are what the kernel counts, at one moment; absent where it does not.
type Counters struct {
	All, Steal, Busy tape.Opt[float64] // processor time of the whole host, in 1/100 s
	Periods          tape.Opt[float64] // of the control group's quota
	Throttled        tape.Opt[float64] // of these, in which it was held back
	Listen           tape.Opt[int64]   // net.core.somaxconn
}

// Count reads the counters below root ("/").
func Count(root string) Counters {
	var c Counters
	read := func(path string) string {
		b, _ := os.ReadFile(filepath.Join(root, path))
		return string(b)
	}
	line, _, _ := strings.Cut(read("proc/stat"), "\n")
	if f := strings.Fields(line); len(f) >= 9 && f[0] == "cpu" {
		var all, idle, steal float64
		ok := true
		for i, w := range f[1:9] { // user nice system idle iowait irq softirq steal
			v, err := strconv.ParseFloat(w, 64)
			ok = ok && err == nil && v >= 0 && !math.IsInf(v, 0) && v == v
			switch all += v; i {
			case 3, 4:
				idle += v
			case 7:
				steal = v
			}
		}
		if ok {
			c.All, c.Steal, c.Busy = tape.Some(all), tape.Some(steal), tape.Some(all-idle)
		}
	}
	for _, path := range append(groups(read("proc/self/cgroup")), "sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/cpu/cpu.stat") {
		f := strings.Fields(read(path))
		for i := 0; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i+1], 64)
			if err != nil {
				continue
			}
			switch f[i] {
			case "nr_periods":
				c.Periods = tape.Some(v)
			case "nr_throttled":
				c.Throttled = tape.Some(v)
			}
		}
		if c.Periods.OK {
			break
		}
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(read("proc/sys/net/core/somaxconn")), 10, 64); err == nil {
		c.Listen = tape.Some(n)
	}
	return c
}

// groups are the files of the control groups that a process is in, of both versions.
func groups(text string) (paths []string) {
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		of, dir, ok := strings.Cut(rest, ":")
		switch dir = filepath.Clean("/" + dir); {
		case !ok:
		case of == "":
			paths = append(paths, "sys/fs/cgroup"+dir+"/cpu.stat")
		case slices.Contains(strings.Split(of, ","), "cpu"):
			paths = append(paths, "sys/fs/cgroup/"+of+dir+"/cpu.stat")
		}
	}
	return paths
}

// Readings are everything that Host judges.
type Readings struct {
	Host          tape.Host
	Machine       resource.Machine
	Before, After Counters // around what doctor measures
	CPU           float64  // cores that doctor itself used meanwhile, its server's among them
	Took          time.Duration
	Precise       Lateness // of the pacer's own wait
	Plain         Lateness // of an ordinary timer
	Clock         time.Duration
	Speed         Speed // of a full look, before the timers'
	Env           func(string) (string, bool)
}

// Limits of the items.
const (
	latePrecise  = time.Millisecond
	latePlain    = 5 * time.Millisecond
	clockCost    = 500 * time.Nanosecond
	stealShare   = 0.01
	othersShare  = 0.25 // of the cores that the process may use
	fewNoFile    = 4096
	noNoFile     = 32 // left: no load at all
	fewPorts     = 10_000
	fewAvailable = 1 << 30
	fewListen    = 1024
	waitingShare = 0.5
)

// Host are the items that readings of the machine give.
func Host(r Readings) []Item {
	items := []Item{
		late("timer", "the clock's own wait, which sends requests: 2 ms on a locked thread, nanosleep and a short spin", r.Precise, latePrecise,
			"end what else runs here (top), or use a machine of its own for the load: sends are as late as this"),
		late("sleep", "a plain timer of Go, which stamps do not depend on: 1 ms", r.Plain, latePlain, "as timer"),
		clockSource(r),
		speed(r),
		steal(r),
		governor(r),
		quota(r),
		others(r),
		descriptors(r.Machine),
		ports(r.Machine),
		waiting(r.Machine),
		listen(r.After),
		memory(r.Machine),
		proxies(r.Env),
	}
	return items
}

func late(name, how string, l Lateness, limit time.Duration, do string) Item {
	if l.N == 0 {
		return absent(name, "not measured", how)
	}
	i := Item{Name: name, Value: fmt.Sprintf("late by p50 %s, p99 %s, most %s", round(l.P50), round(l.P99), round(l.Max)), Limit: "p99 " + round(limit), How: fmt.Sprintf("%s; %d times", how, l.N)}
	return i.number(float64(l.P99)/1e6, "ms").judge(l.P99 <= limit, Note, do)
}

func clockSource(r Readings) Item {
	const how = "the mean of 20,000 readings, the best of 5; the source is that of /sys/devices/system/clocksource"
	name := r.Host.ClockSource
	if name == "" {
		name = "source not observed"
	}
	if r.Clock <= 0 {
		return absent("clock", name, how)
	}
	i := Item{Name: "clock", Value: fmt.Sprintf("%s, %d ns a reading", name, r.Clock.Nanoseconds()), Limit: fmt.Sprintf("%d ns", clockCost.Nanoseconds()), How: how}
	return i.number(float64(r.Clock.Nanoseconds()), "ns").judge(r.Clock <= clockCost, Note,
		"a source that the kernel reads without a system call: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, as root and where available_clocksource lists it")
}

func steal(r Readings) Item {
	how := fmt.Sprintf("/proc/stat, over the %s of this look", round(r.Took))
	a, b := r.Before, r.After
	if !a.Steal.OK || !b.Steal.OK || b.All.V <= a.All.V {
		return absent("steal", "not observed", how)
	}
	share := max(b.Steal.V-a.Steal.V, 0) / (b.All.V - a.All.V)
	i := Item{Name: "steal", Value: fmt.Sprintf("%.2g %% of the processors' time went to other machines of the same hypervisor", 100*share), Limit: fmt.Sprintf("%g %%", 100*stealShare), How: how}
	return i.number(share, "share").judge(share <= stealShare, Note, "a machine with processors of its own (dedicated, not shared or burstable ones)")
}

func governor(r Readings) Item {
	const how = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
	g := r.Host.Governor
	if g == "" {
		return absent("governor", "not observed: the hypervisor or the processor rules its own frequency", how)
	}
	return Item{Name: "governor", Value: g, Limit: "performance", How: how}.judge(g == "performance", Note, "cpupower frequency-set -g performance, as root")
}

func quota(r Readings) Item {
	const how = "cpu.max and cpu.stat of the control groups, or their older names"
	if !r.Host.Quota.OK {
		return Item{Name: "cpu_quota", Verdict: OK, Value: fmt.Sprintf("none: %d of %d processors may be used", r.Host.CPUs, max(r.Host.Logical, int64(r.Host.CPUs))), How: how}
	}
	held := 0.0
	if r.Before.Throttled.OK && r.After.Throttled.OK {
		held = max(r.After.Throttled.V-r.Before.Throttled.V, 0)
	}
	i := Item{Name: "cpu_quota", Value: fmt.Sprintf("%.3g cores; held back in %.0f periods of this look", r.Host.Quota.V, held), Limit: "never held back", How: how}
	return i.number(held, "periods").judge(held == 0, Note, "a higher limit (resources.limits.cpu, docker --cpus), or none: a process that is held back stands still for tens of milliseconds")
}

// OtherCores is how many cores were busy with other work than doctor's; absent: not
// observed.
func (r Readings) OtherCores() tape.Opt[float64] {
	a, b := r.Before.Busy, r.After.Busy
	if !a.OK || !b.OK || r.Took <= 0 || r.Host.CPUs < 1 {
		return tape.Opt[float64]{}
	}
	return tape.Some(max((b.V-a.V)/100/r.Took.Seconds()-r.CPU, 0))
}

// Crowded reports whether so many cores busy with other work, of so many that a process
// may use, are more than a measurement should stand beside; what was not observed is none.
func Crowded(busy tape.Opt[float64], cpus int) bool {
	return busy.OK && busy.V > othersShare*float64(cpus)
}

func others(r Readings) Item {
	how := fmt.Sprintf("/proc/stat less doctor's own processor time, over the %s of this look", round(r.Took))
	busy := r.OtherCores()
	if !busy.OK {
		return absent("other_load", "not observed", how)
	}
	cores := busy.V
	limit := othersShare * float64(r.Host.CPUs)
	i := Item{Name: "other_load", Value: fmt.Sprintf("%.2f cores are busy with other work, of %d", cores, r.Host.CPUs), Limit: fmt.Sprintf("%.2g cores", limit), How: how}
	return i.number(cores, "cores").judge(!Crowded(busy, r.Host.CPUs), Note, "end it, or move the load to a machine of its own: what is measured here is measured beside it")
}

func descriptors(m resource.Machine) Item {
	const how = "getrlimit(RLIMIT_NOFILE), and what /proc/self/fd has; tokentape raises its soft limit to the hard one"
	if m.Soft == 0 {
		return absent("descriptors", "not observed", how)
	}
	i := Item{Name: "descriptors", Value: fmt.Sprintf("%d may be open, %d are", m.Soft, m.Open), Limit: strconv.Itoa(fewNoFile), How: how}
	if m.Shell > 0 { // it is unlimited, or no shell could be asked
		i.Value += fmt.Sprintf("; the shell's limit is %d", m.Shell)
	}
	bad := Note
	if m.Soft-m.Open < noNoFile {
		bad = Short
	}
	return i.number(float64(m.Soft), "descriptors").judge(m.Soft >= fewNoFile, bad, "ulimit -Hn 65536 (LimitNOFILE of a service, nofile in limits.conf): every request in flight over HTTP/1.1 needs one")
}

func ports(m resource.Machine) Item {
	const how = "net.ipv4.ip_local_port_range"
	if m.Ports == 0 {
		return absent("local_ports", "not observed", how)
	}
	i := Item{Name: "local_ports", Value: fmt.Sprintf("%d for connections to one address", m.Ports), Limit: strconv.Itoa(fewPorts), How: how}
	return i.number(float64(m.Ports), "ports").judge(m.Ports >= fewPorts, Note, "sysctl -w net.ipv4.ip_local_port_range='1024 65535', as root")
}

func waiting(m resource.Machine) Item {
	const how = "tw of /proc/net/sockstat, of all processes"
	if m.Ports == 0 {
		return absent("time_wait", "not observed", how)
	}
	limit := int64(waitingShare * float64(m.Ports))
	i := Item{Name: "time_wait", Value: fmt.Sprintf("%d connections keep their local port", m.Waiting), Limit: strconv.FormatInt(limit, 10), How: how}
	return i.number(float64(m.Waiting), "connections").judge(m.Waiting <= limit, Note, "wait a minute, and keep connections alive (target.renew_after 0, limits.keep_alive longer than the gaps)")
}

func listen(c Counters) Item {
	const how = "net.core.somaxconn; it matters to a server on this host alone"
	if !c.Listen.OK {
		return absent("listen_queue", "not observed", how)
	}
	i := Item{Name: "listen_queue", Value: fmt.Sprintf("%d connections may wait for a server here to accept them", c.Listen.V), Limit: strconv.Itoa(fewListen), How: how}
	return i.number(float64(c.Listen.V), "connections").judge(c.Listen.V >= fewListen, Note, "sysctl -w net.core.somaxconn=4096, as root, and start the server again")
}

func memory(m resource.Machine) Item {
	const how = "/proc/meminfo, or the control group's limit"
	if m.Memory == 0 {
		return absent("memory", "not observed", how)
	}
	i := Item{Name: "memory", Value: fmt.Sprintf("%.1f GiB, %.1f GiB free now", gib(m.Memory), gib(m.Available)), Limit: "1 GiB free", How: how}
	return i.number(float64(m.Available), "bytes").judge(m.Available >= fewAvailable, Note, "end what holds it, or a machine with more: a stream in flight takes some tens of KiB")
}

func gib(b int64) float64 { return float64(b) / (1 << 30) }

// proxies names the variables that other tools obey. Their values may hold passwords,
// and are never shown.
func proxies(env func(string) (string, bool)) Item {
	i := Item{Name: "proxy_variables", Verdict: OK, Value: "none", How: "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY of the environment, in either spelling; values are not shown"}
	var set []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		for _, n := range []string{name, strings.ToLower(name)} {
			if v, ok := env(n); ok && v != "" {
				set = append(set, n)
			}
		}
	}
	if len(set) == 0 {
		return i
	}
	i.Value = strings.Join(set, ", ")
	return i.judge(!slices.ContainsFunc(set, func(n string) bool { return !strings.EqualFold(n, "NO_PROXY") }), Note,
		"nothing, if the way should be direct: tokentape obeys them only with target.proxy: environment, where other tools do without being told")
}

// round is a duration in ms with three digits, from a second on in s: one unit for what
// is compared line by line.
func round(d time.Duration) string {
	v, unit := float64(d)/1e6, "ms"
	if d >= time.Second {
		v, unit = d.Seconds(), "s"
	}
	digits := 0
	switch {
	case v > 0 && v < 1:
		digits = 3
	case v < 10:
		digits = 2
	case v < 100:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}
