// Package rows is the workload.Source over a dataset: row, template and system
// message become an Item.
//
// In: an open dataset, a template, a system message. Out: Items, after every row
// has been checked once. It must never send a row that differs from the one it
// checked, and never drop or fill in a part of a row without saying so in Notes.
package rows
