package provenance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tokentape/tape"
)

// files puts a machine's files below a new root.
func files(t *testing.T, of map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range of {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func environ(of map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := of[name]; return v, ok }
}

// told are the facts that come from files and the environment alone.
func told(h tape.Host) tape.Host {
	h.Name, h.OS, h.Arch, h.Kernel, h.CPUs, h.NoFile, h.Zone, h.MaxProcs = "", "", "", "", 0, 0, "", 0
	h.NTP = tape.Opt[bool]{}
	return h
}

func TestHost(t *testing.T) {
	two := "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R)\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu hypervisor lm\n\n" +
		"processor\t: 1\nmodel name\t: Intel(R)  Xeon(R)\nphysical id\t: 0\ncore id\t: 0\nflags\t: fpu hypervisor\n\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		want  tape.Host
	}{
		{"nothing can be read", nil, nil, tape.Host{GC: "default"}},
		{"a virtual machine of two threads on one core", map[string]string{
			"proc/cpuinfo": two, "proc/meminfo": "MemTotal:  1024 kB\nMemFree: 1 kB\nMemAvailable: 512 kB\n", "proc/loadavg": "3.61 3.24 2.81 2/117 32194\n",
			"proc/stat": "cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1 2\n", "etc/os-release": "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n",
			"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n", "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
			"sys/class/dmi/id/sys_vendor": "QEMU\n", "sys/class/dmi/id/product_name": "Standard PC\n",
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n", "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
		}, map[string]string{"GOGC": "off"}, tape.Host{
			CPUModel: "Intel(R) Xeon(R)", Cores: 1, Logical: 2, Memory: 1 << 20, Available: 512 << 10, Load: []float64{3.61, 3.24, 2.81}, Steal: tape.Some(0.1),
			Distribution: "Debian GNU/Linux 12", ClockSource: "tsc", Ports: 28232, Hypervisor: "QEMU Standard PC", Governor: "performance, powersave", GC: "off",
		}},
		{"bare metal of a maker", map[string]string{"proc/cpuinfo": "processor: 0\nflags: fpu\n", "sys/class/dmi/id/sys_vendor": "Dell Inc."}, nil, tape.Host{Logical: 1, GC: "default"}},
		{"virtual, of an unknown maker", map[string]string{"proc/cpuinfo": "flags: hypervisor\n"}, nil, tape.Host{Hypervisor: "unknown", GC: "default"}},
		{"ARM", map[string]string{
			"proc/cpuinfo": "processor\t: 0\nCPU implementer: 0x41\n\nprocessor\t: 1\n", "proc/device-tree/model": "Board 5\x00",
			"sys/devices/system/cpu/cpu0/topology/core_id": "0\n", "sys/devices/system/cpu/cpu1/topology/core_id": "1\n",
		}, nil, tape.Host{CPUModel: "Board 5", Cores: 2, Logical: 2, GC: "default"}},
		{"a pod with limits, groups of version 2", map[string]string{
			"proc/self/cgroup": "0::/kubepods/pod1/c1\n", "sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/kubepods/pod1/cpu.max": "150000 100000\n",
			"sys/fs/cgroup/kubepods/pod1/c1/cpu.max": "max 100000", "sys/fs/cgroup/kubepods/pod1/c1/memory.max": "1073741824\n", "sys/fs/cgroup/kubepods/memory.max": "max\n",
		}, map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tape.Host{Quota: tape.Some(1.5), MemoryLimit: 1 << 30, Container: "kubernetes", GC: "default"}},
		{"docker, groups of version 1 whose path only the host has", map[string]string{
			".dockerenv": "", "proc/self/cgroup": "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, nil, tape.Host{Quota: tape.Some(0.5), MemoryLimit: 512 << 20, Container: "docker", GC: "default"}},
		{"podman without limits", map[string]string{
			"run/.containerenv": "engine=podman", "proc/self/cgroup": "1:cpu:/\n4:memory:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, map[string]string{"container": "podman"}, tape.Host{Container: "podman", GC: "default"}},
		{"rubbish", map[string]string{
			"proc/cpuinfo": "\x00\xff:\n:::\nprocessor", "proc/meminfo": "MemTotal: -5 kB\nMemAvailable: 99999999999999999999 kB\n", "proc/loadavg": "a b c", "proc/stat": "cpu 1 2 x 4 5 6 7 8",
			"proc/self/cgroup": "::\n:\n0\n5:cpu:../../..\n", "proc/sys/net/ipv4/ip_local_port_range": "9 1", "etc/os-release": "PRETTY_NAME=\x1b[2J" + strings.Repeat("é", 300),
			"sys/devices/system/clocksource/clocksource0/current_clocksource": strings.Repeat("x", 1<<16),
		}, nil, tape.Host{Distribution: "[2J" + strings.Repeat("é", 98) + " …", ClockSource: strings.Repeat("x", 200) + " …", Logical: 1, GC: "default"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Host(files(t, c.files), environ(c.env), time.Time{})
			if d := cmp.Diff(c.want, told(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

// This machine has a name of its system, processors and an offset of its time.
func TestThisHost(t *testing.T) {
	h := Host("/", os.LookupEnv, time.Now())
	if h.OS == "" || h.Arch == "" || h.CPUs < 1 || h.MaxProcs < 1 || h.Zone == "" {
		t.Errorf("%+v", h)
	}
	if tool := Tool("1.2.3"); tool.Version != "1.2.3" || tool.Go == "" || tool.Platform == "" || tool.Built == "" {
		t.Errorf("%+v", tool)
	}
}
