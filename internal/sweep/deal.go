package sweep

import "fmt"

// Share is the rows of a dataset that one point sends: so many from First (0-based).
type Share struct{ First, Rows int64 }

// Short is the error of a dataset with too few rows for distinct prompts.
type Short struct{ Needed, Have int64 }

func (e *Short) Error() string {
	return fmt.Sprintf("distinct prompts for all points take %d rows, and there are %d", e.Needed, e.Have)
}

// Deal gives each point rows of its own: no two get the same one. have is the number of
// rows, of which the first used ones are given away already; needs are those of the
// points, and −1 where nobody knows: these share what the others leave. The error is a
// *Short.
func Deal(have, used int64, needs []int64) ([]Share, error) {
	var sum, unknown int64
	for _, n := range needs {
		if n < 0 {
			unknown++
		} else {
			sum += n
		}
	}
	left := have - used - sum
	if left < 0 || unknown > left {
		return nil, &Short{used + sum + unknown, have}
	}
	var each int64
	if unknown > 0 {
		each = left / unknown
	}
	out := make([]Share, len(needs))
	at := used
	for i, n := range needs {
		if n < 0 {
			n = each
		}
		out[i] = Share{at, n}
		at += n
	}
	return out, nil
}
