package spec

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a time.Duration whose text form is "10s", "1m30s", "250ms".
type Duration time.Duration

// D is the plain duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String is the shortest text that reads back as d: "5m", not "5m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// MarshalText writes String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "10s", "1m30s", "250ms"; a bare 0 needs no unit.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 10s, 1m30s or 250ms", b)
	}
	*d = Duration(v)
	return nil
}
