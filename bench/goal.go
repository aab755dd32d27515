package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// goal is what a figure should be at most, or at least.
type goal struct {
	Case  string
	Text  string
	Value float64 // NaN: not measured
	Limit float64
	Least bool // the limit is the least that will do
	Unit  string
	Loose string // why the figure does not count as the goal's own; "": it does
}

// met reports whether the goal is reached; what was not measured is not.
func (g goal) met() bool {
	if g.Least {
		return g.Value >= g.Limit
	}
	return g.Value <= g.Limit
}

func (g goal) verdict() string {
	switch {
	case math.IsNaN(g.Value):
		return "not measured"
	case g.met():
		return "met"
	default:
		return "NOT MET"
	}
}

// MarshalJSON adds the verdict; a value that was not measured is null.
func (g goal) MarshalJSON() ([]byte, error) {
	var v any
	if !math.IsNaN(g.Value) && !math.IsInf(g.Value, 0) {
		v = g.Value
	}
	return json.Marshal(map[string]any{"case": g.Case, "goal": g.Text, "value": v, "limit": g.Limit, "at_least": g.Least, "unit": g.Unit, "verdict": g.verdict(), "note": g.Loose})
}

func printGoals(w io.Writer, goals []goal) {
	if len(goals) == 0 {
		return
	}
	fmt.Fprintln(w, "\ngoals")
	for _, g := range goals {
		bound := "at most"
		if g.Least {
			bound = "at least"
		}
		line := fmt.Sprintf("  %-12s  %s: %s%s (%s %s)", g.verdict(), g.Text, digits(g.Value), unit(g.Unit), bound, digits(g.Limit))
		if g.Loose != "" {
			line += "; " + g.Loose
		}
		fmt.Fprintln(w, line)
	}
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}
