// Package workload is what is asked: a stream of items, each the messages of one
// request and its target output length.
//
// In: rows of a dataset (package dataset) and a template. Out: Items. It must
// never know when an item is sent or how it is encoded on the wire.
package workload
