package doctor

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tokentape/internal/resource"
	"tokentape/tape"
)

func fine() Readings {
	return Readings{
		Host:    tape.Host{CPUs: 4, Logical: 4, ClockSource: "tsc", Governor: "performance"},
		Machine: resource.Machine{Soft: 20000, Hard: 20000, Shell: 20000, Open: 8, Ports: 28232, TimeWait: time.Minute, Memory: 16 << 30, Available: 12 << 30},
		Before:  Counters{All: tape.Some(1000.), Busy: tape.Some(100.), Steal: tape.Some(0.)},
		After:   Counters{All: tape.Some(5000.), Busy: tape.Some(300.), Steal: tape.Some(0.), Listen: tape.Some(int64(4096))},
		CPU:     0.2, Took: 10 * time.Second, Clock: 30,
		Precise: Lateness{P50: 1000, P99: 20_000, Max: 90_000, N: 200}, Plain: Lateness{P50: 1000, P99: 900_000, Max: 900_000, N: 200},
		Speed: Speed{Looks: 3000, To: 3e9, Stretches: []Stretch{}},
		Env:   func(string) (string, bool) { return "", false },
	}
}

// Each item is ok on a quiet host, and only what is wrong is noted.
func TestHost(t *testing.T) {
	for name, tc := range map[string]struct {
		edit          func(*Readings)
		item, verdict string
		value         string
	}{
		"a quiet host":  {func(*Readings) {}, "", OK, ""},
		"late":          {func(r *Readings) { r.Precise.P99 = 2e6 }, "timer", Note, "p99 2 ms"},
		"late timers":   {func(r *Readings) { r.Plain.P99 = 6e6 }, "sleep", Note, "p99 6 ms"},
		"no timers":     {func(r *Readings) { r.Precise = Lateness{} }, "timer", None, "not measured"},
		"slow clock":    {func(r *Readings) { r.Clock, r.Host.ClockSource = 2000, "hpet" }, "clock", Note, "hpet, 2000 ns"},
		"slow at times": {func(r *Readings) { r.Speed.Stretches = []Stretch{{1e9, 1016e6, 0.1}} }, "speed", Note, "99.4 %"},
		"slow seldom":   {func(r *Readings) { r.Speed.Stretches = []Stretch{{1e9, 1015e6, 0.1}} }, "speed", OK, "99.5 %"},
		"speed unknown": {func(r *Readings) { r.Speed = Speed{} }, "speed", None, "not observed"},
		"stolen":        {func(r *Readings) { r.After.Steal = tape.Some(400.) }, "steal", Note, "10 %"},
		"steal unknown": {func(r *Readings) { r.After.Steal = tape.Opt[float64]{} }, "steal", None, "not observed"},
		"governor":      {func(r *Readings) { r.Host.Governor = "powersave" }, "governor", Note, "powersave"},
		"no governor":   {func(r *Readings) { r.Host.Governor = "" }, "governor", None, "not observed"},
		"a quota that holds back": {func(r *Readings) {
			r.Host.Quota, r.Before.Throttled, r.After.Throttled = tape.Some(1.5), tape.Some(3.), tape.Some(7.)
		}, "cpu_quota", Note, "1.5 cores; held back in 4 periods"},
		"a quota that does not": {func(r *Readings) {
			r.Host.Quota, r.Before.Throttled, r.After.Throttled = tape.Some(1.5), tape.Some(3.), tape.Some(3.)
		}, "cpu_quota", OK, "1.5 cores"},
		"others":         {func(r *Readings) { r.After.Busy = tape.Some(2100.) }, "other_load", Note, "1.80 cores"},
		"descriptors":    {func(r *Readings) { r.Machine.Soft = 1024 }, "descriptors", Note, "1024 may be open"},
		"ports":          {func(r *Readings) { r.Machine.Ports = 500 }, "local_ports", Note, "500"},
		"time wait":      {func(r *Readings) { r.Machine.Waiting = 20000 }, "time_wait", Note, "20000"},
		"listen queue":   {func(r *Readings) { r.After.Listen = tape.Some(int64(128)) }, "listen_queue", Note, "128"},
		"memory":         {func(r *Readings) { r.Machine.Available = 1 << 29 }, "memory", Note, "0.5 GiB free"},
		"memory unknown": {func(r *Readings) { r.Machine.Memory = 0 }, "memory", None, "not observed"},
		"a proxy": {func(r *Readings) {
			r.Env = func(n string) (string, bool) { return "http://user:pass@h:1", n == "https_proxy" }
		}, "proxy_variables", Note, "https_proxy"},
		"exceptions alone": {func(r *Readings) {
			r.Env = func(n string) (string, bool) { return "localhost", n == "NO_PROXY" }
		}, "proxy_variables", OK, "NO_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			r := fine()
			tc.edit(&r)
			for _, i := range Host(r) {
				want := OK
				if i.Name == tc.item {
					if want = tc.verdict; !strings.Contains(i.Value, tc.value) {
						t.Errorf("%s: %q, want %q", i.Name, i.Value, tc.value)
					}
				}
				if i.Verdict != want || i.How == "" || (i.Verdict == Note) != (i.Do != "") {
					t.Errorf("%+v, want %s", i, want)
				}
				if strings.Contains(i.Value+i.Do+i.How, "pass@") {
					t.Errorf("a password is shown: %+v", i)
				}
			}
		})
	}
}

func TestCount(t *testing.T) {
	root := t.TempDir()
	if c := Count(root); c != (Counters{}) {
		t.Errorf("nothing to read: %+v", c)
	}
	for path, text := range map[string]string{
		"proc/stat":                        "cpu  10 0 20 100 5 1 1 3 0 0\ncpu0 …\n",
		"proc/self/cgroup":                 "0::/app.slice\n3:cpuset:/\n",
		"sys/fs/cgroup/app.slice/cpu.stat": "usage_usec 5\nnr_periods 40\nnr_throttled 7\n",
		"proc/sys/net/core/somaxconn":      "128\n",
	} {
		p := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := Counters{All: tape.Some(140.), Busy: tape.Some(35.), Steal: tape.Some(3.), Periods: tape.Some(40.), Throttled: tape.Some(7.), Listen: tape.Some(int64(128))}
	if c := Count(root); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}

func TestCarry(t *testing.T) {
	kept := func(e tape.Envelope) *Kept { return &Kept{Look: LookFull, Envelope: e} }
	e := kept(tape.Envelope{Limit: 1e6, Points: []tape.EnvelopePoint{{Streams: 500, Rate: 20, Events: 10000, Held: true}, {Streams: 1000, Rate: 20, Events: 19000}, {Streams: 200, Rate: 100, Events: 20000, Held: true}}})
	m := fine().Machine
	for name, tc := range map[string]struct {
		p         Planned
		e         *Kept
		resources string
		envelope  string
	}{
		"fits":                    {Planned{Streams: 400, Events: 8000, Need: resource.Need{InFlight: 400, Servers: 1}}, e, OK, OK},
		"too many at once":        {Planned{Streams: 501, Events: 100, Need: resource.Need{InFlight: 501, Servers: 1}}, e, OK, Short},
		"too quick for so many":   {Planned{Streams: 400, Events: 15000, Need: resource.Need{InFlight: 400, Servers: 1}}, e, OK, Short},
		"quick with fewer":        {Planned{Streams: 100, Events: 15000, Need: resource.Need{InFlight: 100, Servers: 1}}, e, OK, OK},
		"descriptors":             {Planned{Streams: 90000, Events: 1, Need: resource.Need{InFlight: 90000, Servers: 1}}, nil, Short, None},
		"nothing known of either": {Planned{Need: resource.Need{Rate: 1, All: 10}}, e, OK, None},
		"events alone":            {Planned{Events: 30000, Need: resource.Need{Rate: 1, All: 10}}, e, OK, Short},
		"nothing held":            {Planned{Streams: 1, Events: 1, Need: resource.Need{InFlight: 1}}, kept(tape.Envelope{Points: []tape.EnvelopePoint{{Streams: 64}}}), OK, Short},
	} {
		t.Run(name, func(t *testing.T) {
			got := Carry(tc.p, tc.e, m)
			if got[0].Verdict != tc.resources || got[1].Verdict != tc.envelope {
				t.Errorf("%+v", got)
			}
			for _, i := range got {
				if i.Verdict == Short && i.Do == "" {
					t.Errorf("nothing mends it: %+v", i)
				}
			}
		})
	}
}

func TestKeep(t *testing.T) {
	f := FactsOf(tape.Host{Name: "h", CPUs: 2, Memory: 16<<30 + 12345}, 1<<20)
	path := KeptPath(t.TempDir(), f)
	if k, err := Known(path, f); k != nil || err != nil {
		t.Errorf("nothing was kept: %+v, %v", k, err)
	}
	k := Kept{Tool: "1", Host: f, Look: LookQuick, Busy: tape.Some(0.), Envelope: tape.Envelope{Measured: "2026-01-02T03:04:05Z", Limit: 1e6, Points: []tape.EnvelopePoint{{Streams: 3, Rate: 5, Events: 15, Error: 9, Held: true}}}}
	for range 2 { // the second replaces the first
		if err := Keep(path, k); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Known(path, f)
	if k.Schema = KeptSchema; err != nil || !reflect.DeepEqual(got, &k) {
		t.Errorf("%+v, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	other := f
	other.CPUs = 4
	if KeptPath("x", other) == KeptPath("x", f) {
		t.Error("two hosts have one file")
	}
	if few := FactsOf(tape.Host{Name: "h", CPUs: 2, Memory: 16 << 30}, 256); KeptPath("x", few) == KeptPath("x", f) || few.Descriptors != 256 || f.Descriptors != 0 {
		t.Errorf("what few descriptors allow stands for the host: %+v %+v", few, f)
	}
	if _, err := Known(path, other); err == nil {
		t.Error("the envelope of another host was taken")
	}
	for _, bad := range []string{"", "{", "null", `{"schema":"tokentape.envelope/2"}`} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if e, err := Known(path, f); err == nil || e != nil {
			t.Errorf("%q: %+v", bad, e)
		}
	}
}

func TestEnvelopeItem(t *testing.T) {
	p := func(n int64, rate float64, held bool) tape.EnvelopePoint {
		off := int64(500_000)
		if !held {
			off = 1_500_000
		}
		return tape.EnvelopePoint{Streams: n, Rate: rate, Events: float64(n) * rate, Error: off, Held: held}
	}
	for name, tc := range map[string]struct {
		e       *tape.Envelope
		verdict string
		value   string
	}{
		"none":         {nil, None, "because"},
		"an edge":      {&tape.Envelope{Limit: 1e6, Points: []tape.EnvelopePoint{p(64, 20, true), p(128, 20, true), p(192, 20, false)}}, OK, "128 streams at 20 tokens/s (2560/s in all, p99 error 0.5 ms), not 192 (p99 error 1.5 ms)"},
		"no edge":      {&tape.Envelope{Limit: 1e6, Points: []tape.EnvelopePoint{p(64, 20, true)}}, OK, "more was not tried"},
		"one rate not": {&tape.Envelope{Limit: 1e6, Points: []tape.EnvelopePoint{p(64, 20, true), p(64, 100, false)}}, Note, "at 100 tokens/s not even 64 streams (p99 error 1.5 ms)"},
		"too little":   {&tape.Envelope{Limit: 1e6, Points: []tape.EnvelopePoint{p(64, 20, true), {Streams: 64, Rate: 100, Events: 3000, Error: 400_000}}}, Note, "not even 64 streams (3000 of 6400/s came)"},
		"nothing held": {&tape.Envelope{Limit: 1e6, Points: []tape.EnvelopePoint{p(64, 20, false)}}, Note, "not even 64 streams at 20 tokens/s each"},
	} {
		var k *Kept
		if tc.e != nil {
			k = &Kept{Look: LookQuick, Busy: tape.Some(1.64), Envelope: *tc.e}
			tc.value += "|quick, beside 1.6 busy cores"
		}
		if i := Envelope(k, true, "because"); i.Verdict != tc.verdict || !has(i.Value, tc.value) || (i.Verdict == Note) != (i.Do != "" && i.Verdict != None) {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// has reports whether text has all parts of want, which | parts.
func has(text, want string) bool {
	for w := range strings.SplitSeq(want, "|") {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Durations that stand below each other have one unit, and keep their digits.
func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 2500 * time.Nanosecond: "0.003 ms", 402_900: "0.403 ms", time.Millisecond: "1 ms", 5_814_000: "5.81 ms", 81_420_000: "81.4 ms",
		100 * time.Millisecond: "100 ms", 250_400_000: "250 ms", time.Second: "1 s", 12_345 * time.Millisecond: "12.3 s", 20 * time.Second: "20 s", 100 * time.Second: "100 s",
	} {
		if got := round(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

// A spec names a target, but only --url has it contacted.
func TestNoTarget(t *testing.T) {
	for inSpec, want := range map[bool]string{false: "no target was named", true: "the spec's target is not contacted without --url"} {
		if i := NoTarget("dns", inSpec); i.Name != "dns" || i.Verdict != None || !strings.Contains(i.Value, want) {
			t.Errorf("%v: %+v", inSpec, i)
		}
	}
}

func TestLateness(t *testing.T) {
	if got := lateness(nil); got != (Lateness{}) {
		t.Errorf("%+v", got)
	}
	ns := make([]int64, 101)
	for i := range ns {
		ns[i] = int64(100 - i)
	}
	if got := lateness(ns); got != (Lateness{50, 99, 100, 101}) {
		t.Errorf("%+v", got)
	}
}

func TestMostStreams(t *testing.T) {
	for _, tc := range []struct {
		m    resource.Machine
		want int64
	}{
		{resource.Machine{}, 10_000},
		{resource.Machine{Soft: 1024, Open: 10}, 886},
		{resource.Machine{Soft: 100}, 1},
		{resource.Machine{Soft: 20000, Ports: 1000, Waiting: 500}, 372},
		{resource.Machine{Soft: 20000, Available: 400 << 20}, 1024},
	} {
		if got := MostStreams(tc.m); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.m, got, tc.want)
		}
	}
}

// TestFewDescriptors: what a low limit allows is not taken for what the host can carry,
// and nothing that works at all is no note.
func TestFewDescriptors(t *testing.T) {
	low := resource.Machine{Soft: 200, Open: 10, Ports: 28000, Available: 4 << 30}
	high := low
	high.Soft = 1 << 20
	k := &Kept{Envelope: tape.Envelope{Limit: 1e6, Points: []tape.EnvelopePoint{{Streams: MostStreams(low), Rate: 50, Events: 3000, Error: 9, Held: true}}}}
	if i := Bounded(Envelope(k, true, ""), &k.Envelope, low); i.Verdict != Note || !strings.Contains(i.Value, "the limit of 200 descriptors ended it, not the host") || !strings.Contains(i.Do, "ulimit") {
		t.Errorf("%+v", i)
	}
	if i := Bounded(Envelope(k, true, ""), &k.Envelope, high); i.Verdict != OK {
		t.Errorf("%+v", i)
	}
	if few := Few(low); few != "" {
		t.Error(few)
	}
	low.Soft = 140
	if few := Few(low); !strings.Contains(few, "the limit of 140 descriptors allows no load") {
		t.Errorf("%q", few)
	}
	if i := descriptors(resource.Machine{Soft: 12, Open: 9}); i.Verdict != Short || strings.Contains(i.Value, "shell") || i.Do == "" {
		t.Errorf("%+v", i)
	}
	if i := Loopback(Trip{}, nil); i.Verdict != Short || i.Do == "" || strings.Contains(i.Value, "nil") {
		t.Errorf("%+v", i)
	}
}
