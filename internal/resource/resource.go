package resource

import (
	"fmt"
	"strings"
	"time"
)

// Need is what a plan asks of the client's machine. Counts that nobody can know
// before the run are 0.
type Need struct {
	InFlight int64 // most requests at once; 0: no cap
	All      int64 // requests of the whole run; 0: unknown, or as many as fit a time
	// Streams over HTTP/2 share connections, so that InFlight bounds nothing but
	// memory.
	Shared bool
	// Servers are how many addresses connections go to over IP; 0: unix sockets
	// alone.
	Servers int64
	Body    int64 // bytes of the largest request body, as far as known
	Output  int64 // most output tokens of a request; 0: unknown

	Rate       float64       // requests per second offered; 0: a closed loop
	RenewAfter int64         // requests a connection carries; 0: any number
	Idle       time.Duration // how long an unused connection is kept
}

// Machine is what there is. A value that could not be read is 0 and judges
// nothing.
type Machine struct {
	Soft, Hard int64 // descriptors the process may have open
	Shell      int64 // soft limit of the shell that started it
	Open       int64 // descriptors open now
	Ports      int64 // ephemeral ports
	Waiting    int64 // TCP connections in TIME_WAIT, of all processes
	TimeWait   time.Duration
	Memory     int64 // bytes the process could ever have
	Available  int64 // of these free now
}

// Refusal is a plan that cannot work here: one sentence a shortage, with what to
// change.
type Refusal struct {
	Why  []string
	Hint []string
}

func (r *Refusal) Error() string {
	return "this machine cannot carry the plan: " + strings.Join(r.Why, "; ")
}

// Reserves and costs. A request in flight was measured at 57 KiB of resident
// memory (500, 1,000 and 2,000 in flight over HTTP/1.1 on loopback, 100 tokens
// each, one process, RSS of the tape's client samples); half as much again is
// reckoned. perToken is what the event log keeps: gap, kind, count, choice.
const (
	spare      = 64       // descriptors for tape, telemetry, resolver and side requests
	perRequest = 86 << 10 // bytes
	perToken   = 32       // bytes
	base       = 32 << 20 // bytes of the process without load (18 MiB measured)
)

// Check compares what is needed with what there is. The error is a *Refusal.
func Check(n Need, m Machine) (notes []string, err error) {
	var r Refusal
	refuse := func(hint, why string, args ...any) {
		r.Why = append(r.Why, fmt.Sprintf(why, args...))
		r.Hint = append(r.Hint, hint)
	}
	note := func(text string, args ...any) { notes = append(notes, fmt.Sprintf(text, args...)) }

	conns := n.InFlight
	if n.Shared {
		conns = 0
	}
	need := m.Open + spare + conns
	switch {
	case m.Soft == 0:
	case conns > 0 && need > m.Soft:
		hint := fmt.Sprintf("raise the hard limit (ulimit -Hn %d, or LimitNOFILE of the service)", need)
		if fit := m.Soft - m.Open - spare; fit > 0 {
			hint += fmt.Sprintf(", or lower load.concurrency to %d", fit)
		}
		refuse(hint, "%d requests in flight need %d file descriptors (%d open now, %d spare), and the limit is %d", conns, need, m.Open, spare, m.Soft)
	case conns > 0 && m.Shell > 0 && m.Shell < need:
		note("the soft limit of file descriptors was raised from %d to %d for this process (%d are needed)", m.Shell, m.Soft, need)
	case n.InFlight == 0 && !n.Shared && (n.All == 0 || n.All > m.Soft-m.Open-spare):
		note("without load.concurrency there is no cap: %d requests in flight is where file descriptors end", m.Soft-m.Open-spare)
	}

	if ports := m.Ports * n.Servers; ports > 0 {
		switch churn := n.churn(); {
		case conns > ports:
			refuse(fmt.Sprintf("widen net.ipv4.ip_local_port_range, add addresses (target.urls, target.spread), or lower load.concurrency to %d", ports),
				"%d connections to %d address(es) need as many local ports, and net.ipv4.ip_local_port_range has %d", conns, n.Servers, m.Ports)
		case churn*m.TimeWait.Seconds() > float64(ports):
			note("about %.3g new connections a second, each keeping its local port for %s after its end (TIME_WAIT), are more than the %d ports of net.ipv4.ip_local_port_range: expect client_limit; raise target.renew_after or limits.keep_alive, or widen the range",
				churn, m.TimeWait, m.Ports)
		case m.Waiting > m.Ports/2:
			note("%d TCP connections of this machine are in TIME_WAIT, against %d local ports: wait a minute when connecting fails", m.Waiting, m.Ports)
		}
	}

	bytes := base + n.InFlight*(perRequest+2*n.Body+n.Output*perToken)
	switch {
	case n.InFlight == 0:
	case m.Memory > 0 && bytes > m.Memory:
		refuse("lower load.concurrency, or use a machine with more memory", "%d requests in flight need about %s of memory, and there are %s", n.InFlight, size(bytes), size(m.Memory))
	case m.Available > 0 && bytes > m.Available:
		note("%d requests in flight need about %s of memory, and %s are free now", n.InFlight, size(bytes), size(m.Available))
	}
	if len(r.Why) > 0 {
		return notes, &r
	}
	return notes, nil
}

// churn is how many connections a second end and are made anew, as far as the
// plan tells.
func (n Need) churn() float64 {
	if n.Rate <= 0 || n.Shared {
		return 0
	}
	if n.RenewAfter > 0 {
		return n.Rate / float64(n.RenewAfter)
	}
	if n.Idle > 0 && n.Rate*n.Idle.Seconds() < 1 {
		return n.Rate // each is too old when the next request comes
	}
	return 0
}

func size(b int64) string {
	if b >= 10<<30 {
		return fmt.Sprintf("%d GiB", b>>30)
	}
	return fmt.Sprintf("%d MiB", (b+1<<20-1)>>20)
}
