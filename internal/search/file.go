package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// Schema of search.json.
const Schema = "tokentape.search/1"

// FileName is search.json, beside sweep.json in the folder of a search.
const FileName = "search.json"

// File is search.json: what was asked, every look with what was counted and decided, and
// the verdict. It is written again after every look, and a search goes on from it.
type File struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Asked  Params `json:"asked"`
	// SLO are the limits: those on requests by their names in report.slo, and conditions.
	SLO []string `json:"slo"`
	// Level at which each bound holds by itself: 1 − 0.05 ÷ Asked.MostLooks.
	Level float64 `json:"level"`
	// EstimateS is how long all looks take at most, as known before the first; null: not
	// known.
	EstimateS *float64 `json:"estimate_s"`
	Looks     []Look   `json:"looks"`
	// Verdict is null while the search is running.
	Verdict *Verdict `json:"verdict"`
}

// NewFile is that of a search before its first look.
func NewFile(name string, p Params, slo []string) *File {
	f := &File{Schema: Schema, Name: name, Asked: p, SLO: slo, Level: 1 - p.Alpha(), Looks: []Look{}}
	if t := p.Estimate(); t > 0 {
		f.EstimateS = &t
	}
	return f
}

// Add judges a look and appends it.
func (f *File) Add(l Look) {
	l.N = len(f.Looks) + 1
	f.Asked.Judge(&l, f.Looks)
	f.Looks = append(f.Looks, l)
}

// Write is the file as text, indented.
func (f *File) Write() ([]byte, error) {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// ReadFile reads what Write wrote, and refuses what no search can go on from.
func ReadFile(text []byte) (*File, error) {
	f := &File{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("it is cut short or no JSON: %w", err)
	}
	if f.Schema != Schema {
		return nil, fmt.Errorf("its schema is %q, and this version reads %q", f.Schema, Schema)
	}
	if err := f.Asked.check(); err != nil {
		return nil, err
	}
	if len(f.SLO) == 0 && f.Asked.Goal == Highest || slices.Contains(f.SLO, "") {
		return nil, errors.New("slo: it has no limits")
	}
	for i, l := range f.Looks {
		switch {
		case !slices.Contains(decisions, l.Decision):
			return nil, fmt.Errorf("looks[%d]: %q is no decision", i, l.Decision)
		case !slices.Contains(kinds, l.Kind):
			return nil, fmt.Errorf("looks[%d]: %q is no kind of look", i, l.Kind)
		case l.N != i+1:
			return nil, fmt.Errorf("looks[%d] is numbered %d", i, l.N)
		case l.Kind != KindRamp && !(l.At >= f.Asked.From && l.At <= f.Asked.To) || !(l.Times > 0 && l.Times <= 1000):
			return nil, fmt.Errorf("looks[%d]: no look is at %v for %v times", i, l.At, l.Times)
		case l.Run != "" && !filepath.IsLocal(l.Run):
			return nil, fmt.Errorf("looks[%d]: its run %q is outside the folder", i, l.Run)
		}
		for _, x := range l.Facts {
			if x.N < 0 || x.Good < 0 || x.Good > x.N || x.SE < 0 || x.NEff < 0 {
				return nil, fmt.Errorf("looks[%d]: %s: %d of %d requests", i, x.Name, x.Good, x.N)
			}
		}
	}
	if err := f.Verdict.check(f); err != nil {
		return nil, fmt.Errorf("verdict: %w", err)
	}
	return f, nil
}

// Words that a file may hold.
var (
	decisions = []string{Holds, Likely, Fails, Undecided, ClientBound, Unfit, Guess}
	kinds     = []string{KindRamp, KindBracket, KindBisect, KindLonger, KindAgain, KindConfirm}
	results   = []string{Found, AtLeast, None, Client, Open}
	ends      = []string{EndDecided, EndLooks, EndTime, EndRows, EndInterrupted, EndRun}
)

// check refuses a verdict that the looks cannot have come to; nil is none yet.
func (v *Verdict) check(f *File) error {
	switch {
	case v == nil:
		return nil
	case !slices.Contains(results, v.Result):
		return fmt.Errorf("%q is no result", v.Result)
	case !slices.Contains(ends, v.End):
		return fmt.Errorf("%q is no end", v.End)
	case v.Line == "":
		return errors.New("it has no line")
	case v.At == nil && (v.Result == Found || v.Result == AtLeast):
		return fmt.Errorf("%s, and at no load", v.Result)
	case v.At != nil && !slices.ContainsFunc(f.Looks, func(l Look) bool { return l.Kind == KindConfirm && l.At == *v.At }):
		return fmt.Errorf("no look measured %v again", *v.At)
	}
	return nil
}

// check refuses params that no search has.
func (p Params) check() error {
	switch {
	case p.For != Rate && p.For != Concurrency || p.Goal != Highest && p.Goal != Goodput:
		return fmt.Errorf("asked: for %q, goal %q", p.For, p.Goal)
	case !(p.From > 0 && p.To > p.From) || math.IsInf(p.To, 0):
		return fmt.Errorf("asked: from %v to %v", p.From, p.To)
	case !(p.Precision > 0 && p.Precision <= 1) || p.Share < 0 || p.Share >= 1:
		return errors.New("asked: precision or share out of range")
	case p.MostLooks < 1 || p.MostLooks > 1000:
		return fmt.Errorf("asked: %d looks", p.MostLooks)
	}
	return nil
}
