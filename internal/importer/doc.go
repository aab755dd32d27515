// Package importer holds what the importers of other tools' result files share. Each
// tool is a room below it.
//
// In: values of one kind a request, as those tools keep them. Out: the lines of a
// tape. It must never invent what a tool did not record: that is absent, and the
// header says so in words. It never computes a statistic.
package importer
