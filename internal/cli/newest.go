package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/search"
)

// findRun accepts what findTape does, and a folder of runs: the newest one in it,
// which is said.
func (a *app) findRun(arg string) (string, error) {
	path, err := findTape(arg)
	if err == nil || !isDir(arg) {
		return path, err
	}
	newest := newestIn(arg, holdsRuns)
	if newest == "" {
		return "", err
	}
	if path, err = findTape(newest); err != nil {
		return "", cmp.Or(severalRuns(newest, newest+", the newest in "+arg+","), err)
	}
	a.sayNewest(newest, arg)
	return path, nil
}

// severalRuns is the error for a folder that holds the runs of a repeat; nil: it holds
// none. what names the folder.
func severalRuns(dir, what string) error {
	var inside []string
	for _, p := range tapesBelow(dir) {
		inside = append(inside, filepath.Dir(p))
	}
	if len(inside) == 0 {
		return nil
	}
	return usageError(fmt.Sprintf("%s holds %d runs", what, len(inside)),
		"name one of them: "+strings.Join(inside[:min(len(inside), 4)], ", "), "or hold them against each other: tokentape compare "+dir)
}

// sayNewest tells which of several was taken.
func (a *app) sayNewest(newest, in string) {
	n := len(stamped(in))
	if n > 1 {
		fmt.Fprintf(a.stderr, "tokentape: %s, the newest of %d in %s\n", newest, n, in)
		return
	}
	fmt.Fprintf(a.stderr, "tokentape: %s, the only one in %s\n", newest, in)
}

// oneRun is the rule of verbs that read one run: the newest is named where several
// were given, as a pattern of the shell does.
func oneRun(verb string, at int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch n := len(args) - at; {
		case n < 1:
			return usageError(verb+" needs a run", "give its folder, as the run printed it: runs/NAME/TIME; or runs/NAME for the newest in it")
		case n > 1:
			newest := slices.MaxFunc(args[at:], byStamp)
			return usageError(fmt.Sprintf("%s reads one run, and got %d", verb, n),
				"the newest of them: "+newest+"; "+filepath.Dir(newest)+" alone means the newest in it",
				"several beside each other: tokentape compare; as one: tokentape merge")
		}
		return nil
	}
}

// findSearch is the folder of a search, or the newest search in a folder of runs, which
// is said; what is neither stays as it is, for the reader to refuse.
func (a *app) findSearch(arg string) string {
	dir := filepath.Clean(arg)
	if _, err := os.Stat(filepath.Join(dir, sweepSpec)); err == nil {
		return dir
	}
	list, _ := filepath.Glob(filepath.Join(globbed(dir), "*-search*", search.FileName))
	if len(list) == 0 {
		return dir
	}
	newest := filepath.Dir(slices.MaxFunc(list, func(x, y string) int { // TIME-search, TIME-search-2 … TIME-search-10
		const stamp = len("2006-01-02T150405Z")
		x, y = filepath.Base(filepath.Dir(x)), filepath.Base(filepath.Dir(y))
		return cmp.Or(strings.Compare(x[:min(stamp, len(x))], y[:min(stamp, len(y))]), len(x)-len(y), strings.Compare(x, y))
	}))
	which := "the only search"
	if len(list) > 1 {
		which = fmt.Sprintf("the newest of %d searches", len(list))
	}
	fmt.Fprintf(a.stderr, "tokentape: %s, %s in %s\n", newest, which, arg)
	return newest
}

// stampName is the name of a run's folder, and what tells two of one second apart.
var stampName = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d{6}Z)(?:-(\d+))?$`)

// byStamp orders folders of runs by time; others come before them.
func byStamp(x, y string) int {
	a, b := stampName.FindStringSubmatch(filepath.Base(x)), stampName.FindStringSubmatch(filepath.Base(y))
	if a == nil || b == nil {
		return len(a) - len(b)
	}
	if c := strings.Compare(a[1], b[1]); c != 0 {
		return c
	}
	n, _ := strconv.Atoi(a[2])
	m, _ := strconv.Atoi(b[2])
	return n - m
}

// stamped are the folders in dir that are named by a time, as runs are.
func stamped(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		if stampName.MatchString(e.Name()) && isDir(filepath.Join(dir, e.Name())) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// newestIn is the newest of the stamped folders that are of use, "" for none.
func newestIn(dir string, of func(string) bool) string {
	list := slices.DeleteFunc(stamped(dir), func(p string) bool { return !of(p) })
	if len(list) == 0 {
		return ""
	}
	return slices.MaxFunc(list, byStamp)
}

func holdsRuns(dir string) bool { return len(tapesBelow(dir)) > 0 }

// tapesBelow are the tapes in a run's folder, or in those of its repeats.
func tapesBelow(dir string) []string {
	var out []string
	for _, at := range []string{"", "*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(globbed(dir), at, "tape.jsonl*"))
		out = append(out, found...)
	}
	return out
}

// globbed makes a pattern that matches dir alone.
func globbed(dir string) string {
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(dir, `\$0`)
}

// hasSides reports whether dir holds the two sides of run --repeat K --against ….
func hasSides(dir string) bool {
	return isDir(filepath.Join(dir, "a")) && isDir(filepath.Join(dir, "b"))
}
