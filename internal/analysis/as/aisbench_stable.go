package as

import (
	"cmp"
	"fmt"
	"slices"
)

// aisStable is one of AISBench's rules for its stable stage.
type aisStable struct {
	name string
	find func(requests []aisRequest, most int64) aisWindow
}

// aisWindow is what a rule found: seconds on the clock of the time points, and the
// indexes of the requests, counted among the successful ones.
type aisWindow struct {
	ok       bool
	from, to float64
	ids      []int
	why      string // there is none
}

// aisEvent is a start or an end.
type aisEvent struct {
	id    int
	start bool
	t     float64
}

// aisEvents sorts all starts and ends by time alone; ties keep list order, a
// request's start before its end.
func aisEvents(requests []aisRequest) []aisEvent {
	events := make([]aisEvent, 0, 2*len(requests))
	for i := range requests {
		events = append(events, aisEvent{i, true, requests[i].start()}, aisEvent{i, false, requests[i].end()})
	}
	slices.SortStableFunc(events, func(a, b aisEvent) int { return cmp.Compare(a.t, b.t) })
	return events
}

var stableNow = aisStable{
	name: "the rule of 29c363e (2026-08-20): from the second start that brings in-flight to exactly the cap to the last event at that level; starts inside, both ends closed",
	find: func(requests []aisRequest, most int64) (w aisWindow) {
		var level, top, starts int64
		for _, e := range aisEvents(requests) {
			if e.start {
				level++
			} else {
				level--
			}
			top = max(top, level)
			if level != most {
				continue
			}
			if e.start {
				if starts++; starts == 2 {
					w.ok, w.from = true, e.t
				}
			}
			w.to = e.t
		}
		if !w.ok {
			w.why = aisNeverFull(top, starts, most)
			return w
		}
		for i := range requests {
			if t := requests[i].start(); w.from <= t && t <= w.to {
				w.ids = append(w.ids, i)
			}
		}
		return w
	},
}

// The constants that users of the older rule edited in its source, as shipped.
const (
	aisWaveOffset     = 0.02
	aisIntervalOffset = 0.001 // s
)

var stablePre464 = aisStable{
	name: "the rule before 13908d2 (2026-08-17), WAVE_OFFSET 0.02 and INTERVAL_OFFSET 0.001 s: from the second start that brings in-flight to exactly the cap " +
		"to the first end after the last start, or to an end that drops it below 98 % and is not made good within 1 ms; starts at the cap, and above 98 % once there are more than two",
	find: func(requests []aisRequest, most int64) (w aisWindow) {
		low := int64(float64(most) * (1 - aisWaveOffset))
		events := aisEvents(requests)
		var level, top int64
		sent := 0
	sweep:
		for i, e := range events {
			if e.start {
				level++
				sent++
			} else {
				level--
			}
			top = max(top, level)
			switch {
			case e.start && level == most:
				w.ids = append(w.ids, e.id)
				if len(w.ids) == 2 {
					w.from = e.t
				}
			case e.start && level >= low && len(w.ids) > 2:
				w.ids = append(w.ids, e.id)
			case !e.start && sent == len(requests):
				w.to = e.t
				break sweep
			case !e.start && len(w.ids) > 1 && level < low:
				if next := i + 1; next < len(events) && events[next].start && events[next].t-e.t <= aisIntervalOffset && level+1 >= low {
					continue // the next start makes it good
				}
				w.to = e.t
				break sweep
			}
		}
		if len(w.ids) < 2 { // the first that reaches the cap is dropped
			w.why = aisNeverFull(top, int64(len(w.ids)), most)
			w.ids = nil
			return w
		}
		w.ok, w.ids = true, w.ids[1:]
		return w
	},
}

func aisNeverFull(top, starts, most int64) string {
	switch {
	case most <= 0:
		return "no cap is known, and the rule needs one to be reached"
	case top < most:
		return fmt.Sprintf("the cap of %d was never full: at most %d successful requests were in flight", most, top)
	case starts == 1:
		return fmt.Sprintf("one start only brought in-flight to exactly %d", most)
	}
	return fmt.Sprintf("no start brought in-flight to exactly %d", most)
}
