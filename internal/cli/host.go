package cli

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"tokentape/tape"
)

// hostFacts describes the machine of the client, as far as it can be read.
func hostFacts() tape.Host {
	h := tape.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0)} // a container's limit, too
	h.Name, _ = os.Hostname()
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		h.NoFile = int64(r.Cur)
	}
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		var lo, hi int64
		if _, err := fmt.Sscan(string(b), &lo, &hi); err == nil {
			h.Ports = hi - lo + 1
		}
	}
	return h
}
