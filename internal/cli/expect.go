package cli

import (
	"fmt"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/spec"
)

// exitMissed: a condition of expect missed, and nothing worse.
const exitMissed = 7

// checkConditions refuses conditions of --expect that cannot be read.
func checkConditions(conditions []string) error {
	for _, c := range conditions {
		if i := spec.CheckCondition(c, "--expect"); i != nil {
			return &exitError{code: exitUsage, msg: i.Format()}
		}
	}
	return nil
}

// expectEnding is exit code 7 when a condition missed.
func expectEnding(res *analysis.Results) error {
	var missed []string
	for _, e := range res.Expect {
		if e.Result != analysis.ResultPass {
			missed = append(missed, e.Condition)
		}
	}
	switch len(missed) {
	case 0:
		return nil
	case 1:
		return &exitError{code: exitMissed, msg: "not as expected: " + missed[0]}
	}
	return &exitError{code: exitMissed, msg: fmt.Sprintf("not as expected, %d of %d conditions: %s", len(missed), len(res.Expect), strings.Join(missed, "; "))}
}
