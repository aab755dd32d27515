package cli

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/report/chart"
)

// chartFlags ask for one chart of the page in place of a report.
type chartFlags struct {
	name string
	svg  bool
	chart.Options
}

// chartList is the name that lists all charts of a run.
const chartList = "list"

func (f *chartFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "chart", "", "one chart of the page as a picture (SVG) in place of the report; "+chartList+": what charts this run has")
	cmd.Flags().BoolVar(&f.svg, "svg", false, "the picture's format: the only one (--chart); PNG is made by the page's button")
	cmd.Flags().IntVar(&f.Width, "width", 0, fmt.Sprintf("of the picture, pixels (--chart; default %d)", chart.DefaultWidth))
	cmd.Flags().IntVar(&f.Height, "height", 0, "of the picture with title and legend, pixels (--chart; default: as on the page)")
	cmd.Flags().BoolVar(&f.Dark, "dark", false, "colours for a dark ground (--chart)")
}

// check refuses what goes with no chart, and with no other flag.
func (f *chartFlags) check(cmd *cobra.Command) error {
	if f.name == "" {
		for _, name := range []string{"svg", "width", "height", "dark"} {
			if cmd.Flags().Changed(name) {
				return usageError("--"+name+": of a chart", "--chart NAME; --chart list names them")
			}
		}
		if cmd.Flags().Changed("chart") {
			return usageError("--chart: no name", "--chart list names the charts of a run")
		}
		return nil
	}
	for _, name := range []string{"format", "full", "as"} {
		if cmd.Flags().Changed(name) {
			return usageError("--"+name+": of a report, and --chart draws a picture", "leave one of them out")
		}
	}
	if err := f.Check(); err != nil {
		return usageError("--chart: " + err.Error())
	}
	return nil
}

// chart prints a chart of the run, or the names of all.
func (a *app) chart(res *analysis.Results, f chartFlags, lang string, out outFile) error {
	all, err := chart.All(res, lang)
	if err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	var names bytes.Buffer
	t := tabwriter.NewWriter(&names, 0, 0, 2, ' ', 0)
	var ids []string
	for _, c := range all {
		if c.ID == f.name {
			picture, err := c.SVG(f.Options)
			if err != nil {
				return usageError("--chart: " + err.Error())
			}
			return a.put(picture, out)
		}
		ids = append(ids, c.ID)
		fmt.Fprintf(t, "%s\t%s\n", c.ID, c.Title)
	}
	t.Flush()
	switch {
	case f.name == chartList:
		return a.put(names.Bytes(), out)
	case len(all) == 0:
		return usageError("--chart "+f.name+": this run has nothing to draw", "tokentape report RUN says why")
	}
	return usageError("--chart "+f.name+": this run has no such chart", "one of "+strings.Join(ids, ", "))
}
