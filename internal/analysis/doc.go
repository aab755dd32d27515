// Package analysis turns a tape into results: windows, metrics, checks, verdict.
//
// In: a tape. Out: Results (results.json) and the rows behind them. It must
// never read the network's bytes, a dataset or a tokenizer, never print, and
// give the same numbers for the same tape on any machine.
package analysis
