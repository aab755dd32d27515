package exporter

import "tokentape/internal/analysis/as"

// Arrays are the lists of one value a request, in plan order, that vLLM's and
// SGLang's clients both write: seconds and tokens, 0 and empty where a request
// failed.
type Arrays struct {
	Inputs, Outputs []int64
	TTFTs, Starts   []float64
	ITLs            [][]float64
	Errors          []string // empty where it succeeded
}

// NewArrays spreads the records into lists.
func NewArrays(records []as.Record) Arrays {
	a := Arrays{Inputs: []int64{}, Outputs: []int64{}, TTFTs: []float64{}, Starts: []float64{}, ITLs: [][]float64{}, Errors: []string{}}
	for _, r := range records {
		itl := r.ITL
		if itl == nil {
			itl = []float64{}
		}
		a.Inputs = append(a.Inputs, r.Input)
		a.Outputs = append(a.Outputs, r.Output)
		a.TTFTs = append(a.TTFTs, r.TTFT)
		a.Starts = append(a.Starts, r.Start)
		a.ITLs = append(a.ITLs, itl)
		a.Errors = append(a.Errors, r.Error)
	}
	return a
}

// Rate is load.rate as Python scripts read it: a number, or "inf" without one.
func Rate(r *as.Run) any {
	if r.Rate <= 0 {
		return "inf"
	}
	return r.Rate
}

// Cap is load.concurrency, null without one.
func Cap(r *as.Run) any {
	if r.Cap <= 0 {
		return nil
	}
	return r.Cap
}
