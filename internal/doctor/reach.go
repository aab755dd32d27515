package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/resource"
	"tokentape/tape"
)

// Trip is what one way to a server and back took.
type Trip struct {
	Connect []time.Duration // of each new connection, shortest first, TLS included
	GET     []time.Duration // of GETs over connections that were there, shortest first
	Status  int             // of the last answer
	Remote  string
	Asked   int64 // answers
	Waits   int64 // reads of which the kernel told how long the bytes had waited; an answer takes one or more
}

// Reach opens n connections to a URL, one after the other, and sends two GETs over each:
// the second tells the round trip alone. The answer's status is not judged.
func Reach(ctx context.Context, clk *clock.Clock, cfg client.Config, target string, header http.Header, n int) (t Trip, err error) {
	cfg.Clock = clk
	var waits atomic.Int64
	cfg.Waited, cfg.WaitedOf = func(int64) { waits.Add(1) }, 1
	defer func() { t.Waits = waits.Load() }()
	for range n {
		if err := func() error {
			c := client.New(cfg)
			defer c.Close()
			for i := range 2 {
				begin := clk.Now()
				got, err := c.Get(ctx, target, header, 16<<20)
				took := time.Duration(clk.Now() - begin)
				if err != nil {
					return err
				}
				t.Asked++
				t.Status, t.Remote = got.Status, got.Remote
				switch {
				case i == 0:
					t.Connect = append(t.Connect, time.Duration(max(got.Dial, 0)+max(got.Shake, 0)))
				case got.Reused:
					t.GET = append(t.GET, took)
				}
			}
			return nil
		}(); err != nil {
			return t, err
		}
	}
	slices.Sort(t.Connect)
	slices.Sort(t.GET)
	return t, nil
}

// between is the time between two GETs of Told.
const between = 20 * time.Millisecond

// Told asks on over one connection until the kernel has told of a read or so much time is
// over, and adds to t's answers and waits. The kernel begins to stamp some time after it
// was asked to, and ends with the last connection that did: a look by short ones can miss
// it. It ends early when ctx does or a GET fails, for what t had stands.
func Told(ctx context.Context, clk *clock.Clock, cfg client.Config, target string, most time.Duration, t *Trip) {
	cfg.Clock = clk
	var waits atomic.Int64
	cfg.Waited, cfg.WaitedOf = func(int64) { waits.Add(1) }, 1
	c := client.New(cfg)
	defer c.Close()
	for begin, n := clk.Now(), int64(0); t.Waits == 0; n++ {
		at := begin + n*int64(between)
		if at > begin+int64(most) || clk.SleepUntil(ctx, at) != nil {
			return
		}
		if _, err := c.Get(ctx, target, nil, 16<<20); err != nil {
			return
		}
		t.Asked++
		t.Waits += waits.Swap(0)
	}
}

// Answers are what a name stands for.
type Answers struct {
	Host  string
	Addrs []string // sorted
	Took  time.Duration
}

// LookUp asks the resolver for the name in a URL; an address needs no look-up, and Took
// is 0.
func LookUp(ctx context.Context, clk *clock.Clock, target string) (Answers, error) {
	u, err := url.Parse(target)
	if err != nil {
		return Answers{}, err
	}
	a := Answers{Host: u.Hostname()}
	if ip, err := netip.ParseAddr(a.Host); err == nil {
		a.Addrs = []string{ip.String()}
		return a, nil
	}
	begin := clk.Now()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", a.Host)
	a.Took = time.Duration(clk.Now() - begin)
	if err != nil {
		return a, fmt.Errorf("look up %s: %w", a.Host, err)
	}
	for _, ip := range ips {
		a.Addrs = append(a.Addrs, ip.Unmap().String())
	}
	slices.Sort(a.Addrs)
	a.Addrs = slices.Compact(a.Addrs)
	return a, nil
}

// Direct is a client that goes to its server without a proxy.
func Direct() client.Config { return client.Config{Connect: 5 * time.Second} }

// MostStreams is how many streams descriptors, ports and memory allow here: the server's
// process needs as many descriptors of its own, and memory beside the client's.
//
// Fewer than LeastStreams are no envelope: Few says then what is short, and else nothing.
func MostStreams(m resource.Machine) int64 {
	n, _ := bound(m)
	return max(n, 1)
}

// LeastStreams is how many streams an envelope takes at least.
const LeastStreams = 8

// mostStreams is how many streams are tried at most.
const mostStreams = 10_000

// Few says what allows this host no load that would be an envelope; "": nothing.
func Few(m resource.Machine) string {
	if n, by := bound(m); n < LeastStreams {
		return by + " allows no load that would say anything"
	}
	return ""
}

// bound is how many streams are possible, and what ends them; "": the most that is tried.
func bound(m resource.Machine) (n int64, by string) {
	const spare, each = 128, 200 << 10
	n = mostStreams
	if d := m.Soft - m.Open - spare; m.Soft > 0 && d < n {
		n, by = d, fmt.Sprintf("the limit of %d descriptors", m.Soft)
	}
	if d := m.Ports - m.Waiting - spare; m.Ports > 0 && d < n {
		n, by = d, fmt.Sprintf("the range of %d local ports, of which %d are waiting,", m.Ports, m.Waiting)
	}
	if d := m.Available / 2 / each; m.Available > 0 && d < n {
		n, by = d, fmt.Sprintf("the free memory of %.1f GiB", gib(m.Available))
	}
	return n, by
}

// Bounded is the item of an envelope whose largest load was not ended by the host but by
// what a process may have: what lies above is not known.
func Bounded(i Item, e *tape.Envelope, m resource.Machine) Item {
	n, by := bound(m)
	if most, _ := e.Most(); by == "" || most < n || i.Verdict == None {
		return i
	}
	i.Verdict, i.Value = Note, i.Value+"; "+by+" ended it, not the host"
	if m.Soft > 0 && strings.Contains(by, "descriptors") {
		i.Do = "ulimit -Hn 65536 (LimitNOFILE of a service, nofile in limits.conf), then tokentape doctor again: the envelope is kept for this limit alone"
	} else {
		i.Do = "more of it, then tokentape doctor again"
	}
	return i
}

var errNoGET = errors.New("no connection was kept alive")

const slowLoopback = time.Millisecond

// Loopback is the item of the way to the built-in server.
func Loopback(t Trip, err error) Item {
	const name, how = "loopback", "8 connections to the built-in server, two GETs over each; the second's time"
	if err != nil || len(t.GET) == 0 {
		i := Item{Name: name, How: how, Limit: "it is reached", Value: fmt.Sprintf("not reached: %v", cmp.Or(err, errNoGET))}
		return i.judge(false, Short, "what is SHORT above, first; else a firewall or a sandbox may forbid connections on 127.0.0.1, or another process: no load would go better")
	}
	i := Item{Name: name, Value: trip(t), Limit: "GET p50 " + round(slowLoopback), How: how}
	mid := t.GET[len(t.GET)/2]
	return i.number(float64(mid)/1e6, "ms").judge(mid <= slowLoopback, Note, "end what else runs here: this way costs tens of microseconds on a quiet host")
}

// TargetTime is how long a target is waited for, all connections and GETs together.
const TargetTime = 10 * time.Second

// Target is the item of the way to the server that the user named.
func Target(shown string, t Trip, err error) Item {
	i := Item{Name: "target", Verdict: OK, How: "connections to " + shown + ", two GETs over each; the second's time, the server's work among it"}
	if err != nil {
		i.Verdict, i.Value, i.Do = Note, "not reached: "+err.Error(), "tokentape probe says more of why"
		return i
	}
	if len(t.GET) == 0 {
		i.Value = fmt.Sprintf("connect p50 %s to %s, status %d; it keeps no connection alive", round(t.Connect[len(t.Connect)/2]), t.Remote, t.Status)
		return i
	}
	i.Value = fmt.Sprintf("%s; %s answered with status %d", trip(t), t.Remote, t.Status)
	return i.number(float64(t.GET[len(t.GET)/2])/1e6, "ms")
}

// NoTarget is an item of a target when none was named, or, with inSpec, by the spec
// alone, whose server is left in peace.
func NoTarget(name string, inSpec bool) Item {
	why := "no target was named: --url HOST:PORT"
	if inSpec {
		why = "the spec's target is not contacted without --url HOST:PORT"
	}
	return absent(name, why, "with --url: connections, GETs, and a look-up of its name")
}

func trip(t Trip) string {
	return fmt.Sprintf("connect p50 %s, most %s; GET p50 %s, most %s", round(t.Connect[len(t.Connect)/2]), round(t.Connect[len(t.Connect)-1]), round(t.GET[len(t.GET)/2]), round(t.GET[len(t.GET)-1]))
}

const slowDNS = 100 * time.Millisecond

// DNS is the item of a look-up.
func DNS(a Answers, err error) Item {
	i := Item{Name: "dns", Verdict: OK, Limit: round(slowDNS), How: "one look-up by this host's resolver"}
	switch {
	case err != nil:
		i.Verdict, i.Value, i.Do = Note, err.Error(), "the name's spelling, /etc/resolv.conf, or an address in place of the name"
		return i
	case a.Took == 0:
		i.Value, i.Limit = a.Host+" is an address: nothing to look up", ""
		return i
	}
	i.Value = fmt.Sprintf("%s: %s, in %s", a.Host, strings.Join(a.Addrs, ", "), round(a.Took))
	return i.number(float64(a.Took)/1e6, "ms").judge(a.Took <= slowDNS, Note, "target.resolve: once looks the name up before the run; a new connection otherwise waits that long")
}

// Stamps is the item of the kernel's stamps.
func Stamps(t Trip) Item {
	i := Item{Name: "kernel_stamps", How: "SO_TIMESTAMPING on connections to the built-in server: reads of which the kernel told when their bytes came. It begins to stamp some time after it was asked to, so that not every read has one"}
	if t.Waits == 0 {
		i.Verdict, i.Value = None, fmt.Sprintf("was told nothing in %s this time: a run says itself whether client wait was observed", plural(t.Asked, "answer"))
		i.Do = "tokentape doctor again; where it stays so, look for client wait in the report of a run (telemetry.kernel_stamps: all asks on each connection)"
		return i
	}
	i.Verdict, i.Value = OK, fmt.Sprintf("told for %s, in %s: runs tell how long bytes waited for the client", plural(t.Waits, "read"), plural(t.Asked, "answer"))
	return i
}
