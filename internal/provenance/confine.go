package provenance

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"tokentape/tape"
)

// limits are those of the control groups that the process is in: the least of each
// group and those above it, of both versions. Within a container the path may name a
// folder that only the host has; then the topmost one tells.
func (m machine) limits() (quota tape.Opt[float64], memory int64) {
	cores := func(v float64) {
		if v > 0 && (!quota.OK || v < quota.V) {
			quota = tape.Some(v)
		}
	}
	bytes := func(text string) {
		// "max", and in version 1 a number near the largest, mean without limit.
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n > 0 && n < 1<<60 && (memory == 0 || n < memory) {
			memory = n
		}
	}
	for line := range strings.Lines(m.read("proc/self/cgroup")) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		of, dir, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		for dir = path.Clean("/" + dir); ; dir = path.Dir(dir) {
			if of == "" {
				for _, root := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
					if f := strings.Fields(m.read(root + dir + "/cpu.max")); len(f) == 2 {
						cores(ratio(f[0], f[1]))
					}
					bytes(m.read(root + dir + "/memory.max"))
				}
			}
			if controllers := strings.Split(of, ","); slices.Contains(controllers, "cpu") {
				for _, root := range []string{"sys/fs/cgroup/" + of, "sys/fs/cgroup/cpu"} {
					cores(ratio(m.read(root+dir+"/cpu.cfs_quota_us"), m.read(root+dir+"/cpu.cfs_period_us")))
				}
			} else if slices.Contains(controllers, "memory") {
				bytes(m.read("sys/fs/cgroup/memory" + dir + "/memory.limit_in_bytes"))
			}
			if dir == "/" {
				break
			}
		}
	}
	return quota, memory
}

// ratio of two numbers as text; 0 where it is none, or below 0.
func ratio(a, b string) float64 {
	x, errX := strconv.ParseFloat(strings.TrimSpace(a), 64)
	y, errY := strconv.ParseFloat(strings.TrimSpace(b), 64)
	if v := x / y; errX == nil && errY == nil && v > 0 && !math.IsInf(v, 0) {
		return v
	}
	return 0
}

// container is what the process runs in, as far as it shows: by files and variables
// that the makers put there, and by the names of control groups.
func (m machine) container() string {
	var found []string
	see := func(name string, is bool) {
		if is && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	_, pod := m.env("KUBERNETES_SERVICE_HOST")
	see("kubernetes", pod || m.exists("var/run/secrets/kubernetes.io"))
	see("docker", m.exists(".dockerenv"))
	see("podman", m.exists("run/.containerenv"))
	groups := m.read("proc/1/cgroup") + m.read("proc/self/cgroup")
	for _, g := range []struct{ mark, name string }{
		{"kubepods", "kubernetes"}, {"docker", "docker"}, {"libpod", "podman"}, {"containerd", "containerd"}, {"/lxc", "lxc"},
	} {
		see(g.name, strings.Contains(groups, g.mark))
	}
	if v, ok := m.env("container"); ok && v != "" { // systemd-nspawn, lxc, podman
		see(word(v), true)
	}
	return strings.Join(found, ", ")
}

// makers are vendors of virtual machines, as DMI has them.
var makers = []string{"QEMU", "KVM", "VMware", "Xen", "innotek", "Parallels", "Amazon EC2", "Google", "Bochs", "OpenStack", "DigitalOcean", "Alibaba Cloud", "Tencent Cloud", "Huawei Cloud", "Hetzner", "oVirt", "Nutanix"}

// hypervisor is what the machine runs on; "": no sign of one.
func (m machine) hypervisor(virtual bool) string {
	vendor, product := m.word("sys/class/dmi/id/sys_vendor"), m.word("sys/class/dmi/id/product_name")
	maker := strings.TrimSpace(vendor + " " + product)
	known := strings.Contains(product, "Virtual Machine") || slices.ContainsFunc(makers, func(name string) bool { return strings.Contains(maker, name) })
	kind := m.word("sys/hypervisor/type") // "xen"
	switch {
	case !virtual && !known && kind == "":
		return ""
	case maker != "":
		return maker
	case kind != "":
		return kind
	}
	return "unknown"
}
