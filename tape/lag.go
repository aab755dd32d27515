package tape

// SlotWait is how long the load rules held the request back after its due time:
// t_ready − t_due, in nanoseconds. Absent without a due time, as in a closed loop.
func (r *Request) SlotWait() Opt[int64] {
	if !r.TDue.OK || !r.TReady.OK {
		return Opt[int64]{}
	}
	return Some(r.TReady.V - r.TDue.V)
}

// PacerLag is the part of the delay before the first byte written that is the
// client's own, in nanoseconds: t_wrote_first − t_ready, less the time in which
// a new connection was being set up (t_conn − t_released), which is the
// network's and the server's. Absent before the first byte was written and
// after more than one attempt.
func (r *Request) PacerLag() Opt[int64] {
	if !r.TWroteFirst.OK || !r.TReady.OK || len(r.AttemptLog) > 0 {
		return Opt[int64]{}
	}
	lag := r.TWroteFirst.V - r.TReady.V
	if r.Conn != nil && !r.Conn.Reused && r.TConn.OK && r.TReleased.OK {
		lag -= r.TConn.V - r.TReleased.V
	}
	return Some(lag)
}
