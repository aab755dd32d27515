package search

import "fmt"

// usedUp says that the declared looks ended the search.
func (s *state) usedUp() string {
	text := fmt.Sprintf("the %d declared looks are used up", s.p.MostLooks)
	if left := s.left(0); left > 0 {
		text += fmt.Sprintf(" but for %d, kept to measure a load that holds, and none did", left)
	}
	return text
}

// otherWork reports whether the looks at a load said nothing of the server because other
// programs had the client's machine.
func (s *state) otherWork(at float64) bool {
	found := false
	for _, l := range s.looks {
		if l.At == at && l.Client != "" {
			if !l.OtherWork {
				return false
			}
			found = true
		}
	}
	return found
}

// wanted is how many looks would have done, from the beginning: those that were made, and
// those that are still needed where each decides its place.
func (p Params) wanted(v *Verdict, s *state) int {
	lo, hi := 0.0, 0.0
	if v.At != nil {
		lo = *v.At
	}
	for _, pl := range s.places {
		if pl.holds() && (v.Above == nil || pl.at < *v.Above) {
			lo = max(lo, pl.at)
		}
	}
	if v.Above != nil {
		hi = *v.Above
	}
	n := len(s.looks) - len(s.again)
	switch {
	case hi == 0 && lo == 0:
		n += p.Enough()
	case hi == 0:
		n += p.beyond(lo, p.To)
	case lo == 0:
		n += p.beyond(p.From, hi)
	default:
		n += p.halvings(lo, hi) + Reserve
	}
	return max(n, p.MostLooks+2)
}

// next is what to do for more than a verdict says; nothing where it says all.
func (p Params) next(v *Verdict, s *state) []string {
	idle := "make it on a machine that does nothing else, the server's apart from the client's"
	switch {
	case v.Result == Found && v.AboveIs == Fails || v.Result == Found && p.Goal == Goodput:
		return nil
	case v.Result == Found:
		return []string{fmt.Sprintf("longer looks decide %s, too: %s", p.Load(*v.Above), p.double())}
	case v.Result == AtLeast:
		return []string{fmt.Sprintf("look further: --to %.4g", 4*p.To)}
	case v.Result == None && p.For == Concurrency && p.From <= 1:
		return []string{"a wider limit, or a faster server: tokentape why with the folder of a look tells what its requests waited for"}
	case v.Result == None && p.For == Concurrency:
		return []string{fmt.Sprintf("look lower: --from %d", max(1, int(p.From/4)))}
	case v.Result == None:
		return []string{fmt.Sprintf("look lower: --from %.4g", p.From/4)}
	case v.Result == Client && s.otherWork(*v.Above):
		return []string{idle}
	case v.Result == Client:
		return []string{idle, "or share the load between several hosts (tokentape merge)"}
	}
	switch v.End {
	case EndLooks:
		return []string{fmt.Sprintf("about %d looks would do: --most-looks %d, in a search of its own, since their number is declared before the first", p.wanted(v, s), p.wanted(v, s))}
	case EndTime:
		return []string{fmt.Sprintf("give it more time, in a search of its own: --at-most %.0fs", 2*p.AtMostS)}
	case EndRows:
		return []string{"give it more rows (tokentape dataset build), or let looks send the same ones: --prompts same"}
	case EndInterrupted:
		return []string{"tokentape search with this folder goes on"}
	case EndRun:
		return nil // what broke says itself what mends it
	}
	return []string{"longer looks decide more: " + p.double()}
}

// double is the flag that makes looks twice as long.
func (p Params) double() string {
	if p.Requests > 0 {
		return fmt.Sprintf("--requests %d", 2*p.Requests)
	}
	return fmt.Sprintf("--duration %.0fs", 2*p.DurationS)
}
