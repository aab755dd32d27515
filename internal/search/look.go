package search

import "slices"

// Kinds of looks.
const (
	KindRamp    = "ramp"    // one run of a climbing load, to know where to begin
	KindBracket = "bracket" // doubling or halving until the limit lies between two places
	KindBisect  = "bisect"  // between the highest that holds and the lowest that does not
	KindLonger  = "longer"  // an undecided place again
	KindAgain   = "again"   // one whose look was of no use, as long as before
	KindConfirm = "confirm" // the winner again, with seeds and prompts of its own
)

// Step is a look to be made.
type Step struct {
	Kind string  `json:"kind"`
	At   float64 `json:"at"`
	// Times is its length, in looks of the declared length; below 1 where only far from
	// the limit is asked.
	Times float64 `json:"times"`
}

// Look is a step that was made: one run, and what was counted in it.
type Look struct {
	N int `json:"look"` // 1, 2, 3 …
	Step
	Seed int64 `json:"seed"`
	// Run is the folder of the run, relative to that of the search.
	Run      string  `json:"run"`
	Exit     int     `json:"exit"`     // of the run; docs/exit-codes.md
	Requests int64   `json:"requests"` // that ended in the measured phase
	TookS    float64 `json:"took_s"`
	Facts    []Fact  `json:"facts,omitempty"`
	// Client says why the client could not carry the load, Unfit why the run cannot be
	// used for another reason; "": neither.
	Client string `json:"client,omitempty"`
	Unfit  string `json:"unfit,omitempty"`
	// OtherWork: the client's machine was busy with other work, which made Client.
	OtherWork bool `json:"other_work,omitempty"`
	// Stages are those of a ramp.
	Stages []Stage `json:"stages,omitempty"`
	// Decision of the place with this look, and why.
	Decision string `json:"decision"`
	Why      string `json:"why"`
}

// Stage is one load of a ramp.
type Stage struct {
	At   float64 `json:"at"`
	Good int64   `json:"good"` // requests that were due in it and kept every limit
	N    int64   `json:"n"`    // requests that were due in it
}

// promising reports whether times as much as was seen would decide the place; hold:
// would prove that it holds.
func (pl *place) promising(times, alpha float64, hold bool) bool {
	for i := range pl.facts {
		if f := &pl.facts[i]; (f.Result == Undecided || f.Result == Likely) && !f.promising(times, alpha, hold) {
			return false
		}
	}
	return true
}

// holds reports whether the place is worth being measured again.
func (pl *place) holds() bool { return pl.decision == Holds || pl.decision == Likely }

// usable reports whether what was counted in the look says something of the server.
func (l *Look) usable() bool { return l.Client == "" && l.Unfit == "" }

// place is all looks of one kind at one load.
type place struct {
	at       float64
	looks    []Look
	facts    []Fact // pooled
	decision string
	why      string
	// settled: it will not be looked at again.
	settled bool
	times   float64 // of all usable looks
}

// decide judges a place by its looks.
func (p Params) decide(pl *place) {
	var used []Look
	for _, l := range pl.looks {
		if l.usable() {
			used = append(used, l)
			pl.times += l.Times
		}
	}
	pl.settled = true
	if len(used) == 0 {
		last := pl.looks[len(pl.looks)-1]
		pl.decision, pl.why = Unfit, last.Unfit
		if last.Client != "" {
			pl.decision, pl.why = ClientBound, last.Client
		}
		pl.settled = len(pl.looks) >= 2 // once may be chance
		return
	}
	pl.facts = pool(used, p.Alpha())
	pl.decision, pl.why = Holds, ""
	for _, result := range []string{Fails, Undecided, Likely} {
		for i := range pl.facts {
			if f := &pl.facts[i]; f.Result == result {
				pl.decision, pl.why = result, f.say()
				pl.settled = result != Undecided || pl.times >= enough || pl.times >= 1 && !pl.promising(9, p.Alpha(), false)
				return
			}
		}
	}
	for i := range pl.facts { // the one that came closest is the first limit
		if f := &pl.facts[i]; f.Kind == KindShare || f.Kind == KindValue {
			pl.why = f.say()
			break
		}
	}
}

// places groups looks by load, in rising order: those that confirm, or the others.
func (p Params) places(looks []Look, confirm bool) []*place {
	var out []*place
	for _, l := range looks {
		if l.Kind == KindRamp || (l.Kind == KindConfirm) != confirm {
			continue
		}
		i := slices.IndexFunc(out, func(pl *place) bool { return pl.at == l.At })
		if i < 0 {
			i = len(out)
			out = append(out, &place{at: l.At})
		}
		out[i].looks = append(out[i].looks, l)
	}
	for _, pl := range out {
		p.decide(pl)
	}
	slices.SortFunc(out, func(a, b *place) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	return out
}

// Judge fills bounds and results of a look's facts, and what its place is decided to
// be with it. looks are those before.
func (p Params) Judge(l *Look, looks []Look) {
	for i := range l.Facts {
		l.Facts[i].judge(p.Alpha())
	}
	if l.Kind == KindRamp {
		l.Decision, l.Why = p.judgeRamp(l)
		return
	}
	for _, pl := range p.places(append(looks[:len(looks):len(looks)], *l), l.Kind == KindConfirm) {
		if pl.at == l.At {
			l.Decision, l.Why = pl.decision, pl.why
		}
	}
}
