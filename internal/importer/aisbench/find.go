package aisbench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
)

const suffix = "_details.jsonl"

// places are where a model's folder lies, from the folder that the user named.
var places = []string{"", "*", "performances/*", "*/performances/*"}

// findDetails is the details file that path means: the file itself, or the only
// one of a model's folder, of performances, of a work folder, or of a folder with
// one work folder in it. Of a run that was killed it is what its workers had written
// by then, in the model's tmp/.
func findDetails(path string) (*source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return &source{name: path, dir: filepath.Dir(path), files: []string{path}}, nil
	}
	for _, below := range places {
		found, err := filepath.Glob(filepath.Join(globless(path), below, "*"+suffix))
		if err != nil {
			return nil, err
		}
		switch {
		case len(found) == 1:
			return &source{name: found[0], dir: filepath.Dir(found[0]), files: found}, nil
		case len(found) > 1:
			return nil, fmt.Errorf("%s holds results of %d runs; name one of them: %s", path, len(found), strings.Join(found[:min(len(found), 10)], ", "))
		}
	}
	for _, below := range places {
		found, err := filepath.Glob(filepath.Join(globless(path), below, "tmp", "tmp_*.jsonl"))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			continue
		}
		tmp := filepath.Dir(found[0])
		for _, f := range found {
			if filepath.Dir(f) != tmp {
				return nil, fmt.Errorf("%s holds what several killed runs left; name the folder of one of them: %s, %s", path, filepath.Dir(tmp), filepath.Dir(filepath.Dir(f)))
			}
		}
		return &source{name: tmp, dir: filepath.Dir(tmp), files: found, killed: true}, nil
	}
	return nil, fmt.Errorf("%s holds no NAME%s of AISBench's performance mode (work folder/performances/MODEL/), nor what a killed run leaves, tmp/tmp_*.jsonl", path, suffix)
}

// source is where the lines of a run are.
type source struct {
	name   string // for messages and people: the details file, or tmp/
	dir    string // of the model
	files  []string
	killed bool // the run never ended: the last line of a file may be torn, rows of databases may be missing or more
}

// data is the dataset's abbr by the name of the details; "" in tmp/, where the lines
// say it.
func (s *source) data() string {
	if s.killed {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(s.name), suffix)
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
	streamFrom  string
}

// lookUp completes what the user gave from case.json in the folder that they
// named, then from AISBench's own result table, then from the config beside it, and
// last from one that they named.
func lookUp(o Options, path string, src *source, data string) (settings, error) {
	s := settings{cap: o.Cap, capFrom: fromFlag, stream: o.Stream.V, streamKnown: o.Stream.OK}
	for _, dir := range append([]string{path}, o.Beside...) {
		if s.cap > 0 && s.streamKnown {
			break // and a case.json that cannot be read stops nothing
		}
		var c struct {
			Cap    int64 `json:"max_concurrency"`
			Stream *bool `json:"stream"`
		}
		if err := readJSON(filepath.Join(dir, "case.json"), &c); err != nil {
			return s, err
		}
		if s.cap == 0 && c.Cap > 0 {
			s.cap, s.capFrom = c.Cap, fromCase
		}
		if !s.streamKnown && c.Stream != nil {
			s.stream, s.streamKnown = *c.Stream, true
		}
	}
	var table struct {
		Cap map[string]int64 `json:"Max Concurrency"`
	}
	if s.cap == 0 {
		if err := readJSON(filepath.Join(src.dir, data+".json"), &table); err != nil {
			return s, err
		}
		for _, v := range table.Cap {
			if v > 0 {
				s.cap, s.capFrom = v, fromResult
			}
		}
	}
	if s.cap == 0 || !s.streamKnown {
		cap, stream := configOf(src)
		if s.cap == 0 && cap > 0 {
			s.cap, s.capFrom = cap, fromConfig
		}
		if !s.streamKnown && stream.OK {
			s.stream, s.streamKnown = stream.V, true
		}
	}
	if o.Named != nil && (s.cap == 0 || !s.streamKnown) {
		cap, stream := modelIn(o.Named, filepath.Base(src.dir))
		if s.cap == 0 && cap > 0 {
			s.cap, s.capFrom = cap, "batch_size of "+o.NamedAs+", since the run itself tells none"
		}
		if !s.streamKnown && stream.OK {
			s.stream, s.streamKnown, s.streamFrom = stream.V, true, o.NamedAs
		}
	}
	if !s.streamKnown {
		s.stream = true
	}
	return s, nil
}

// readJSON reads a file that need not be there.
func readJSON(path string, v any) error {
	b, err := pyconf.ReadFile(path)
	if err != nil {
		return nil // none, or path's parent is a file: nothing to look up
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w; give --cap and --stream, and move the file away", path, err)
	}
	return nil
}
