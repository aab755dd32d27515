package search

import (
	"fmt"
	"strings"
)

// Results of a search.
const (
	Found = "found"
	// AtLeast: even the most load that was asked for holds.
	AtLeast = "at_least"
	// None: the least load does not hold.
	None = "none"
	// Client: the client could not carry more; the server's own limit lies above.
	Client = "client_bound"
	// Open: the looks, the time or the rows ended before the limit was known, or the
	// search was interrupted.
	Open = "undecided"
)

// Verdict is what a search found.
type Verdict struct {
	Result string `json:"result"`
	// At is the load that was measured again and held; null: none was.
	At *float64 `json:"at"`
	// Above is the lowest load known, or taken, not to hold; null: none was met. The
	// limit lies from At to Above.
	Above *float64 `json:"above"`
	// AboveIs is the decision about Above.
	AboveIs string `json:"above_is,omitempty"`
	// Facts are those of the measurement of At alone, without the looks that chose it.
	Facts []Fact `json:"facts,omitempty"`
	// Run is the folder of that measurement; of several the last.
	Run string `json:"run,omitempty"`
	// Seeds of its runs.
	Seeds []int64 `json:"seeds,omitempty"`
	// End says why there was no further look (EndDecided …).
	End  string `json:"end"`
	Line string `json:"line"` // in one sentence
	// Notes name what is odd: what holds above what fails, looks that were not used.
	Notes []string `json:"notes,omitempty"`
	// Next is what to do for more.
	Next []string `json:"next,omitempty"`
}

// Conclude is the verdict after these looks; end says why there is no further one.
func (p Params) Conclude(looks []Look, end string) Verdict {
	s := p.state(looks)
	v := Verdict{Result: Open, End: end}
	held, above := s.measured()
	if above != nil {
		v.Above, v.AboveIs = ref(above.at), above.decision
	}
	if held != nil {
		v.At, v.Facts = ref(held.at), held.facts
		for _, l := range held.looks {
			v.Run = l.Run
			v.Seeds = append(v.Seeds, l.Seed)
		}
	}
	switch {
	case held == nil && above != nil && above.at <= p.From && above.decision == Fails:
		v.Result = None
	case held == nil && p.Goal == Goodput && s.hi != nil && s.hi.at <= p.From && s.hi.decision == Fails && s.best(p.Alpha()) == 0:
		v.Result = None
	case held == nil && above != nil && above.at <= p.From && above.decision == ClientBound:
		v.Result = Client
	case held == nil:
	case p.Goal == Goodput:
		v.Result = Found
		if step, _ := s.findGoodput(); step.Kind != "" {
			v.Result = Open
		}
		if n := len(s.places); held.at >= p.To && n > 0 && s.places[n-1].at <= held.at {
			v.Result = AtLeast
		}
	case above == nil && held.at >= p.To:
		v.Result = AtLeast
	case above == nil || !p.close(held.at, above.at/(1+p.Precision)) && !p.close(held.at, above.at): // two steps are as near as looks that scatter tell
	case above.decision == ClientBound:
		v.Result = Client
	case above.decision == Unfit: // nothing was measured there, and no limit seen
		v.Result = Open
	default:
		v.Result = Found
	}
	if !s.order && p.Goal != Goodput {
		v.Notes = append(v.Notes, "not monotone: "+s.disorder()+"; the limit is sought below the lowest load that fails")
	}
	v.Notes = append(v.Notes, unused(looks)...)
	v.Line, v.Next = p.line(&v, s), p.next(&v, s)
	return v
}

// unused are the looks that say nothing of the server: with the reason where the log of
// looks, which gives that of the place, does not have it.
func unused(looks []Look) (notes []string) {
	var there []string
	for _, l := range looks {
		switch why := l.Client + l.Unfit; {
		case l.usable() || l.Kind == KindRamp:
		case l.Why == why:
			there = append(there, fmt.Sprint(l.N))
		default:
			notes = append(notes, fmt.Sprintf("look %d was not used: %s", l.N, why))
		}
	}
	if len(there) > 0 {
		notes = append([]string{"not used, for what the log says of them: look " + strings.Join(there, ", ")}, notes...)
	}
	return notes
}

func (s *state) disorder() string {
	var words []string
	for _, pl := range s.places {
		words = append(words, fmt.Sprintf("%.4g %s", pl.at, pl.decision))
	}
	return strings.Join(words, ", ")
}

// line is the verdict in a sentence.
func (p Params) line(v *Verdict, s *state) string {
	what := "the highest " + p.For + " that holds"
	if p.Goal == Goodput {
		what = "the " + p.For + " with the most goodput"
	}
	switch v.Result {
	case Found:
		text := fmt.Sprintf("%s is %s", what, p.Load(*v.At))
		if p.Goal == Goodput {
			for _, f := range v.Facts {
				if f.Kind == KindGoodput {
					text += ": " + f.say()
				}
			}
			return text
		}
		if v.AboveIs == Fails {
			return text + fmt.Sprintf("; %s does not hold", p.Load(*v.Above))
		}
		return text + fmt.Sprintf("; %s is undecided", p.Load(*v.Above))
	case AtLeast:
		if p.Goal == Goodput {
			return fmt.Sprintf("%s is the most that was asked for, %s: look further (to)", what, p.Load(p.To))
		}
		return fmt.Sprintf("even the most that was asked for holds, %s: the limit lies above; look further (to)", p.Load(p.To))
	case None:
		return fmt.Sprintf("nothing holds: not even the least that was asked for, %s", p.Load(p.From))
	case Client:
		busy := s.otherWork(*v.Above)
		switch {
		case v.At == nil && busy:
			return fmt.Sprintf("this machine was busy with other work at %s, the least that was asked for: nothing is known of the server", p.Load(p.From))
		case v.At == nil:
			return fmt.Sprintf("the client could not carry even %s: nothing is known of the server", p.Load(p.From))
		case busy:
			return fmt.Sprintf("%s holds; at %s this machine was busy with other work, so that the server's limit is not known", p.Load(*v.At), p.Load(*v.Above))
		}
		return fmt.Sprintf("%s holds; the client could not carry %s, so that the server's limit is not known", p.Load(*v.At), p.Load(*v.Above))
	}
	why := map[string]string{EndLooks: s.usedUp(), EndTime: "the time is used up", EndRows: "the rows of the dataset are used up",
		EndInterrupted: "it was interrupted", EndRun: "a run broke"}[v.End]
	if why == "" {
		why = "what was looked at stays undecided"
		for _, pl := range append(s.places, s.again...) {
			if v.AboveIs == Unfit && pl.at == *v.Above {
				why = pl.why
			}
		}
	}
	lo, hi := "", ""
	switch {
	case v.At != nil:
		lo = p.Load(*v.At) + " (measured again)"
	default:
		for _, pl := range s.places {
			if pl.holds() && (v.Above == nil || pl.at < *v.Above) {
				lo = p.Load(pl.at) + " (not measured again)"
			}
		}
	}
	if v.Above != nil {
		hi = fmt.Sprintf("%s (%s)", p.Load(*v.Above), strings.ReplaceAll(v.AboveIs, "_", "-"))
	}
	switch {
	case lo == "" && hi == "":
		return "undecided, nothing is known: " + why
	case lo == "":
		return fmt.Sprintf("undecided below %s: %s", hi, why)
	case hi == "":
		return fmt.Sprintf("undecided above %s: %s", lo, why)
	}
	return fmt.Sprintf("undecided within [%s, %s]: %s", lo, hi, why)
}
