package analysis

import (
	"slices"
	"strings"
)

// What notes of the header say that a check may know better in the end.
const (
	NoteSentBefore  = "these rows were sent to this server before"            // its cache may hold them
	NoteNotPrepared = "were sent before, and this run does not"               // what seeds the cache
	noteRepeats     = "repeat an earlier one; they can hit the server"        // prompts of the dataset
	noteAgain       = "send a dataset row that was sent before; they can hit" // rows of the plan
)

// timely are the notes of the header without those that the checks have answered: a
// worry about the cache where it was seen to serve what was expected, or nothing,
// and prompts that repeat where a check counts them.
func timely(notes []string, checks []Check) []string {
	is := func(name, result string) *Check {
		for i := range checks {
			if c := &checks[i]; c.Name == name && c.Result == result {
				return c
			}
		}
		return nil
	}
	asPlanned := is("cache_off_plan", ResultPass) != nil
	observed := is("cache_state", ResultPass)
	cold := observed != nil && observed.Value != nil && *observed.Value == 0
	return slices.DeleteFunc(slices.Clone(notes), func(n string) bool {
		switch {
		case strings.Contains(n, NoteNotPrepared):
			return asPlanned
		case strings.Contains(n, NoteSentBefore):
			return asPlanned || cold
		case strings.Contains(n, noteRepeats), strings.Contains(n, noteAgain):
			return is("repeats", ResultMiss) != nil
		}
		return false
	})
}
