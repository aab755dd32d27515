package stat

// DescribePooled summarises samples that come in groups, several from one unit of
// observation: xs holds all groups one after the other in plan order, ends[k] is
// where group k ends in xs. Everything about correlation and batches is reckoned
// in groups, since the samples of one hang together far more than groups do. All
// else is as in Describe.
func DescribePooled(xs []float64, ends []int, s *Sections) Description {
	d := points(xs)
	switch {
	case len(xs) == 0:
	case s != nil:
		d.intervals(sample{xs, ends}, *s)
	default:
		d.tail(float64(len(xs)))
	}
	return d
}
