package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis/as"
	"tokentape/tape"
)

// AsTable is a run under another tool's definitions; AsSection is one table of it.
type (
	AsTable   = as.Table
	AsSection = as.Section
)

// AsTools are the names that Options.As may hold.
func AsTools() []string { return as.Tools() }

// CheckAs says whether Options.As may hold tools.
func CheckAs(tools []string) error {
	for i, t := range tools {
		if !slices.Contains(as.Tools(), t) {
			return fmt.Errorf("no definitions of tool %q; known: %s", t, strings.Join(as.Tools(), ", "))
		}
		if slices.Contains(tools[:i], t) {
			return fmt.Errorf("tool %q twice", t)
		}
	}
	return nil
}

// listen shows every record of the first pass over src to another reader too, so
// that none is made for it.
func listen(src Source, to *as.Loader) Source {
	if again, ok := src.(Rereader); ok {
		return teeAgain{tee{src, to}, again}
	}
	return tee{src, to}
}

type tee struct {
	Source
	to *as.Loader
}

// teeAgain is a tee of what can be read again; the loader hears the first pass only.
type teeAgain struct {
	tee
	again Rereader
}

func (t teeAgain) Again() (Source, func() error, error) { return t.again.Again() }

func (t tee) Next() (tape.Record, error) {
	rec, err := t.Source.Next()
	if err == nil {
		t.to.Add(rec)
	}
	return rec, err
}

// asTables makes the tables of tools. A tool that cannot make one of this tape has
// its reason there instead: the rest of the report stands.
func asTables(l *as.Loader, tools []string) ([]AsTable, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	run, err := l.Run()
	if err != nil {
		return nil, err
	}
	tables := make([]AsTable, len(tools))
	for i, tool := range tools {
		t, err := as.Make(tool, run)
		if err != nil {
			t = &AsTable{Tool: tool, Error: err.Error()}
		}
		tables[i] = *t
	}
	return tables, nil
}
