// Package as holds the metric definitions of other tools: one tape under the
// rules, row names, rounding and known faults of each, so that its numbers can be
// held beside what that tool printed.
//
// In: a tape's records, read once into a Run: a pass of its own, since these tools
// look at events that our metrics do not count (role chunks, usage chunks). Out:
// Tables. It must never correct a tool's definition silently: what a tool does is
// copied, and its faults are named in Table.Caveats. It shares no definition with
// analysis/metric, so that neither can change the other.
//
// A tool is one function in a file of its own and one line in tools.go.
package as
