package doctor

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"tokentape/internal/clock"
)

// Look is what a fixed piece of arithmetic cost once.
type Look struct {
	From, To int64   // by the machine's CLOCK_MONOTONIC, ns
	Cost     float64 // processor time of the thread a piece, ns: what else runs here does not add to it
}

// Stretch is a time in which the machine ran at under half of its speed, as looks saw it.
type Stretch struct {
	From    int64   `json:"from"` // by the machine's CLOCK_MONOTONIC, ns
	To      int64   `json:"to"`
	Slowest float64 `json:"slowest"` // of its looks, as a share of the median speed
}

// Speed is what looks say of the machine. It is held against itself: a machine that is slow
// all the time looks even.
type Speed struct {
	Looks     int       `json:"looks"` // 0: nothing was observed
	From      int64     `json:"from"`  // of the first look, by CLOCK_MONOTONIC, ns
	To        int64     `json:"to"`    // of the last one's end
	Apart     int64     `json:"apart"` // most between two looks, ns: no stretch was seen there
	Stretches []Stretch `json:"stretches"`
}

// What makes a stretch. Of looks 2 ms apart on a virtual machine with stretches of 15 to
// 90 ms, beside two busy loops on two processors, runs of one slow look were 28 to 156 in
// 10 s (interrupts), of two up to 3, of three to seven none; stretches had 8 and more.
const (
	slowShare  = 0.5 // of the median speed
	fewestSlow = 3   // looks in a row
	nearby     = int64(5 * time.Millisecond)
)

// WatchEvery is how far apart the looks of Watch begin. A look and its waking take some
// 2 % of a core then; a stretch is seen up to as much late.
const WatchEvery = 2 * time.Millisecond

// meter takes looks.
type meter struct {
	clk   *clock.Clock
	x     uint64
	looks []Look
}

// look works for two pieces and for so many ns at least.
func (m *meter) look(least int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, cpu := m.clk.Now(), clock.ThreadCPU()
	to, pieces := from, 0
	for pieces < 2 || to-from < least {
		m.x = piece(m.x)
		pieces++
		to = m.clk.Now()
	}
	cost := float64(clock.ThreadCPU()-cpu) / float64(pieces)
	m.looks = append(m.looks, Look{m.clk.Machine(from), m.clk.Machine(to), cost})
}

// piece is 1.4 µs at 3 GHz: each step needs the one before it, so that neither memory nor
// another thread of the same core makes it slower.
//
//go:noinline
func piece(x uint64) uint64 {
	for range 1000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// Full works for all of span, 1 ms or more a look, and says how fast it was.
func Full(ctx context.Context, clk *clock.Clock, span time.Duration) (Speed, error) {
	m := meter{clk: clk, looks: make([]Look, 0, span/time.Millisecond+1)}
	for end := clk.Now() + int64(span); clk.Now() < end; {
		if err := context.Cause(ctx); err != nil {
			return Speed{}, err
		}
		m.look(int64(time.Millisecond))
	}
	return NewSpeed(m.looks), nil
}

// Watch looks at once and then every WatchEvery until ctx is done, for beside a load of up to minutes: it
// keeps 12 KB of looks a second. It belongs into a process of its own.
func Watch(ctx context.Context, clk *clock.Clock) Speed {
	m := meter{clk: clk}
	m.look(0)
	clk.Tick(ctx, int64(WatchEvery), func(int64) { m.look(0) })
	return NewSpeed(m.looks)
}

// NewSpeed finds the stretches in looks, which are in the order of time: at least three in
// a row that cost more than twice the median. Stretches within 5 ms of each other are one.
func NewSpeed(looks []Look) Speed {
	s := Speed{Stretches: []Stretch{}}
	costs := make([]float64, len(looks))
	for i, l := range looks {
		costs[i] = l.Cost
	}
	slices.Sort(costs)
	if len(looks) == 0 || costs[len(costs)/2] <= 0 { // a clock of threads that is too coarse
		return s
	}
	usual := costs[len(costs)/2]
	s.Looks, s.From, s.To = len(looks), looks[0].From, looks[len(looks)-1].To
	begin := 0
	for i, l := range looks {
		if i > 0 {
			s.Apart = max(s.Apart, l.From-looks[i-1].To)
		}
		if l.Cost > usual/slowShare {
			continue
		}
		s.add(looks[begin:i], usual)
		begin = i + 1
	}
	s.add(looks[begin:], usual)
	return s
}

// add takes a run of slow looks as a stretch, if it is one.
func (s *Speed) add(slow []Look, usual float64) {
	if len(slow) < fewestSlow {
		return
	}
	t := Stretch{slow[0].From, slow[len(slow)-1].To, 1}
	for _, l := range slow {
		t.Slowest = min(t.Slowest, usual/l.Cost)
	}
	if n := len(s.Stretches) - 1; n >= 0 && t.From-s.Stretches[n].To <= nearby {
		last := &s.Stretches[n]
		last.To, last.Slowest = t.To, min(last.Slowest, t.Slowest)
		return
	}
	s.Stretches = append(s.Stretches, t)
}

// Slow is the share of the time between two moments of CLOCK_MONOTONIC, in ns, that lies
// within stretches: 0 to 1, NaN where to is not after from or nothing was observed.
func (s Speed) Slow(from, to int64) float64 {
	if s.Looks == 0 || to <= from {
		return math.NaN()
	}
	var slow int64
	for _, t := range s.Stretches {
		slow += max(min(t.To, to)-max(t.From, from), 0)
	}
	return float64(slow) / float64(to-from)
}

// String says it in words: "ran at its speed for 92.3 % of 3 s; 4 stretches under half of
// it, the longest 52 ms, the slowest 11 %".
func (s Speed) String() string {
	if s.Looks == 0 {
		return "speed not observed: the kernel's count of a thread's processor time is too coarse"
	}
	span := round(time.Duration(s.To - s.From).Round(10 * time.Millisecond))
	n := len(s.Stretches)
	if n == 0 {
		return "ran at its speed for all of " + span
	}
	var longest int64
	slowest := 1.0
	for _, t := range s.Stretches {
		longest, slowest = max(longest, t.To-t.From), min(slowest, t.Slowest)
	}
	share := math.Floor(1000*(1-s.Slow(s.From, s.To))) / 10 // never all of it where there is a stretch
	if n == 1 {
		return fmt.Sprintf("ran at its speed for %.1f %% of %s; 1 stretch under half of it, %s long, down to %.2g %%", share, span, round(time.Duration(longest)), 100*slowest)
	}
	return fmt.Sprintf("ran at its speed for %.1f %% of %s; %d stretches under half of it, the longest %s, the slowest %.2g %%", share, span, n, round(time.Duration(longest)), 100*slowest)
}

// atSpeed is the least share of the time in which a machine should run at its speed.
const atSpeed = 0.995

func speed(r Readings) Item {
	const how = "arithmetic on one thread, by its own processor time, 1 ms a look; a stretch is 3 ms or more under half of the median speed. Other work of this machine does not count"
	s := r.Speed
	if s.Looks == 0 {
		return absent("speed", s.String(), how)
	}
	share := 1 - s.Slow(s.From, s.To)
	i := Item{Name: "speed", Value: s.String(), Limit: fmt.Sprintf("%g %% of the time", 100*atSpeed), How: how}
	return i.number(share, "share").judge(share >= atSpeed, Note,
		"a machine of its own: bare metal, or an instance that is neither burstable nor oversubscribed. The host slows this one down; steal does not show it, and p99 of anything short is the machine's here")
}
