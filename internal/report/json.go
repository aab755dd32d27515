package report

import (
	"encoding/json"
	"fmt"
	"io"

	"tokentape/internal/analysis"
)

// JSON writes results.json: indented, fields in the order of analysis.Results,
// map keys sorted, so that equal Results are equal bytes.
func JSON(w io.Writer, r *analysis.Results) error {
	if err := finite(r); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("writing results.json: %w", err)
	}
	return nil
}
