package aisbench

import (
	"bufio"
	_ "embed"
	"html/template"
	"math"
	"os"
	"slices"
	"strconv"

	"tokentape/internal/analysis/as"
)

//go:embed plot.html
var plotPage string

var plotTemplate = template.Must(template.New("plot").Parse(plotPage))

// plot writes NAME_plot.html: every request as a line from start over first event to
// end, and below how many were in flight. It needs no other file and no network.
// Times are milliseconds after the first start, to a microsecond.
func (l *Layout) plot(r *as.Run) error {
	var recs [][4]float64 // start, first event, end; 1 for a failed one
	zero := math.Inf(1)
	for rec := range as.AISBenchRecords(r) {
		t := rec.Points
		if len(t) == 0 {
			continue
		}
		first := t[min(1, len(t)-1)]
		if !r.Stream {
			first = t[len(t)-1]
		}
		row := [4]float64{t[0], first, t[len(t)-1], 1}
		if rec.Success {
			row[3] = 0
		}
		recs = append(recs, row)
		zero = min(zero, t[0])
	}
	slices.SortStableFunc(recs, func(a, b [4]float64) int {
		if a[0] < b[0] {
			return -1
		}
		if a[0] > b[0] {
			return 1
		}
		return 0
	})
	data := make([]byte, 0, 32*len(recs)+2)
	data = append(data, '[')
	for i, row := range recs {
		for k, v := range row {
			if i+k > 0 {
				data = append(data, ',')
			}
			if k < 3 {
				v = math.Round((v-zero)*1e6) / 1e3
			}
			data = strconv.AppendFloat(data, v, 'f', -1, 64)
		}
	}
	data = append(data, ']')
	return create(l.file("_plot.html"), func(f *os.File) error {
		out := bufio.NewWriter(f)
		err := plotTemplate.Execute(out, map[string]any{
			"Title": l.Model + "/" + l.Dataset, "Run": r.ID, "Cap": r.Cap, "Stream": r.Stream,
			"Data": template.JS(data), // digits, points and commas alone
		})
		if err != nil {
			return err
		}
		return out.Flush()
	})
}
