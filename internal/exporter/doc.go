// Package exporter holds what the exporters to other tools' file layouts share. Each
// layout is a room below it.
//
// In: what package as says that the other tool keeps of a run. Out: JSON objects
// whose fields keep their order, and the lists in them. It must never compute a
// number.
package exporter
