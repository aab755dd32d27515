package aisbench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const suffix = "_details.jsonl"

// findDetails is the details file that path means: the file itself, or the only
// one of a model's folder, of performances, of a work folder, or of a folder with
// one work folder in it.
func findDetails(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return path, nil
	}
	for _, below := range []string{"", "*", "performances/*", "*/performances/*"} {
		found, err := filepath.Glob(filepath.Join(globless(path), below, "*"+suffix))
		if err != nil {
			return "", err
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return "", fmt.Errorf("%s holds results of %d runs; name one of them: %s", path, len(found), strings.Join(found[:min(len(found), 10)], ", "))
		}
	}
	return "", fmt.Errorf("%s holds no NAME%s of AISBench's performance mode (work folder/performances/MODEL/); "+
		"of a run that was killed there is only tmp/, which is not read", path, suffix)
}

// globless takes the meaning from what filepath.Glob would take for a pattern.
func globless(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// The places where the cap and the form of the answers are looked for, since the
// details do not hold them.
const (
	fromFlag   = "as given"
	fromCase   = "case.json"
	fromResult = "the result table beside the details"
)

// settings are what the details do not hold.
type settings struct {
	cap         int64 // 0: not known
	capFrom     string
	stream      bool
	streamKnown bool
}

// lookUp completes what the user gave from case.json in the folder that they
// named, then from AISBench's own result table.
func lookUp(o Options, path, details string) (settings, error) {
	s := settings{cap: o.Cap, capFrom: fromFlag, stream: o.Stream.V, streamKnown: o.Stream.OK}
	var c struct {
		Cap    int64 `json:"max_concurrency"`
		Stream *bool `json:"stream"`
	}
	if err := readJSON(filepath.Join(path, "case.json"), &c); err != nil {
		return s, err
	}
	if s.cap == 0 && c.Cap > 0 {
		s.cap, s.capFrom = c.Cap, fromCase
	}
	if !s.streamKnown && c.Stream != nil {
		s.stream, s.streamKnown = *c.Stream, true
	}
	var table struct {
		Cap map[string]int64 `json:"Max Concurrency"`
	}
	if s.cap == 0 {
		if err := readJSON(strings.TrimSuffix(details, suffix)+".json", &table); err != nil {
			return s, err
		}
		for _, v := range table.Cap {
			s.cap, s.capFrom = v, fromResult
		}
	}
	if !s.streamKnown {
		s.stream = true
	}
	return s, nil
}

// readJSON reads a file that need not be there.
func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil // none, or path's parent is a file: nothing to look up
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w; give --cap and --stream, and move the file away", path, err)
	}
	return nil
}
