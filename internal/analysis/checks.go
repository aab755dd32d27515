package analysis

// checks are all checks of a run, in the order in which they are shown.
func (r *run) checks(res *Results, o Options) []Check {
	return []Check{r.tapeComplete(res)}
}
