package analysis

import "time"

// wall is a moment of the run by the client's wall clock; empty where the tape
// has no readable anchor.
func (r *run) wall(t int64) string {
	anchor, err := time.Parse(time.RFC3339Nano, r.header.Anchor.Wall)
	if err != nil {
		return ""
	}
	return anchor.Add(time.Duration(t)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
