package rows

import (
	"fmt"

	"tokentape/internal/workload"
)

// Again is the item of a row of the file, 0-based and counted in the file as a tape's
// ref counts it, whether or not it was picked. Its error says why the row gives none.
func (s *Source) Again(row int64) (workload.Item, error) {
	if row < 0 || row >= s.file.Len() {
		return workload.Item{}, fmt.Errorf("%s: there is no row %d among %d (0 is the first)", s.w.Dataset.Path, row, s.file.Len())
	}
	return s.made(row)
}

// Part is the source of one dataset of a mix, 0-based; nil where there is none.
func (m *Mix) Part(k int64) *Source {
	if k < 0 || k >= int64(len(m.parts)) {
		return nil
	}
	return m.parts[k]
}
