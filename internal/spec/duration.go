package spec

import "time"

// Duration is a time.Duration whose text form is "10s", "1m30s", "250ms".
type Duration time.Duration

// D is the plain duration.
func (d Duration) D() time.Duration { return time.Duration(d) }
