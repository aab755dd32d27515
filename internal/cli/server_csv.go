package cli

import (
	"os"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
)

// writeServer makes server.csv where metrics pages were asked for.
func writeServer(dir *runDir, res *analysis.Results) error {
	if res.Server == nil {
		return nil
	}
	return dir.write("server.csv", func(f *os.File) error { return report.ServerCSV(f, res) })
}
