// Package report turns Results into text: console tables, results.json,
// stats.csv and requests.csv.
//
// In: analysis.Results. Out: bytes for a reader, a program or a spreadsheet. It
// must never compute: every number in a view was in Results, a view only rounds
// it. It must never see a tape, and never leave a warning out.
package report
