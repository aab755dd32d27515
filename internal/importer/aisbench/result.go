package aisbench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/secret"
	"tokentape/tape"
)

// Tool is how tapes name AISBench.
const Tool = "aisbench"

// Options say what the files do not.
type Options struct {
	Cap    int64          // requests in flight at most, AISBench's batch_size; 0: look for it
	Stream tape.Opt[bool] // answers were streams; absent: look for it, else they were
	// Dataset picks the lines of one abbr, where a killed run left those of several;
	// empty: there must be one.
	Dataset string
	Writer  tape.Tool // who writes the tape
	// Beside are more folders that case.json is looked for in.
	Beside []string
	// Named is a config that may not be that of the run, and NamedAs how it is called:
	// asked last. Nil: none.
	Named   *pyconf.Result
	NamedAs string
}

// Summary says what was imported.
type Summary struct {
	Details                string // the file that was read
	Requests, OK           int64
	Cap                    int64 // 0: not known
	CapFrom                string
	Stream, StreamSupposed bool
	StreamFrom             string // Options.NamedAs, where that config said it; else empty
	Uncommitted, Uncounted int64  // successes without time points (counted as failed), and without a token count
	Databases              int
	Killed                 bool  // what a run left that never ended
	Torn                   int64 // lines of it that were cut off in the middle
}

// spot is where a line stands: an index into source.files, and its number from 1.
type spot struct {
	file int
	line int64
}

// row is one line of the details.
type row struct {
	spot
	id, ref    int64
	db         int // index into result.dbs
	ok, stored bool
	in, out    int64
	uuid, why  string
	turn       int
	data       string // data_abbr
}

type result struct {
	*source
	dataset string
	dbs     []string
	rows    []row
	sum     string // of the details
	torn    int64
}

// place names a spot.
func (r *result) place(s spot) string { return fmt.Sprintf("%s:%d", r.files[s.file], s.line) }

// Write makes a tape of the result at path: a folder, or a details file. Errors
// name the file and the line or row; what was written until then is no tape.
func Write(w *tape.Writer, path string, o Options) (*Summary, error) {
	src, err := findDetails(path)
	if err != nil {
		return nil, err
	}
	r, err := readDetails(src, o.Dataset)
	if err != nil {
		return nil, err
	}
	set, err := lookUp(o, path, src, r.dataset)
	if err != nil {
		return nil, err
	}
	s := &Summary{Details: src.name, Killed: src.killed, Torn: r.torn, Requests: int64(len(r.rows)), Cap: set.cap, CapFrom: set.capFrom,
		Stream: set.stream, StreamSupposed: !set.streamKnown, StreamFrom: set.streamFrom, Databases: len(r.dbs)}
	if set.cap == 0 {
		s.CapFrom = ""
	}
	if err := w.Write(r.header(set, path, o.Writer)); err != nil {
		return nil, err
	}
	if err := r.requests(w, set, s); err != nil {
		return nil, err
	}
	return s, nil
}

// readDetails reads the details whole but for prompts and answers. Rows come in the
// order in which AISBench's summary takes them: database by database.
func readDetails(src *source, dataset string) (*result, error) {
	r := &result{source: src, dataset: src.data()}
	sum := sha256.New()
	index := map[string]int{}
	seen := map[[2]int64]spot{} // by database and row
	for i := range src.files {
		if err := r.readFile(i, sum, index, seen, dataset); err != nil {
			return nil, err
		}
	}
	if len(r.rows) == 0 {
		return nil, fmt.Errorf("%s: no request in it", src.name)
	}
	slices.SortStableFunc(r.rows, func(a, b row) int { return a.db - b.db })
	r.sum = hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

func (r *result) readFile(file int, sum io.Writer, index map[string]int, seen map[[2]int64]spot, dataset string) error {
	path := r.files[file]
	f, err := pyconf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<20)
	for no := int64(1); ; no++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", path, err)
		}
		last := err == io.EOF
		if len(bytes.TrimSpace(line)) > 0 {
			q, name, bad := readLine(line)
			if bad != nil && r.killed && last {
				r.torn++
				return nil
			}
			if bad != nil {
				return fmt.Errorf("%s:%d: %w; it begins with %.60q", path, no, bad, line)
			}
			if r.killed {
				if dataset != "" && q.data != dataset {
					continue
				}
				if r.dataset == "" {
					r.dataset = q.data
				}
				if q.data != r.dataset {
					return fmt.Errorf("%s holds lines of several datasets, %s and %s; say which: --dataset %s", r.name, r.dataset, q.data, r.dataset)
				}
			}
			q.spot, q.data = spot{file, no}, ""
			if name != "" {
				var known bool
				if q.db, known = index[name]; !known {
					q.db = len(r.dbs)
					index[name] = q.db
					r.dbs = append(r.dbs, name)
				}
			}
			if q.stored {
				key := [2]int64{int64(q.db), q.ref}
				if before, twice := seen[key]; twice {
					return fmt.Errorf("%s:%d: row %d of %s belongs to %s already; were two files put together?", path, no, q.ref, name, r.elsewhere(file, before))
				}
				seen[key] = spot{file, no}
			}
			r.rows = append(r.rows, q)
		}
		if last {
			return nil
		}
	}
}

// elsewhere names a spot from a line of file.
func (r *result) elsewhere(file int, s spot) string {
	if s.file == file {
		return fmt.Sprintf("line %d", s.line)
	}
	return r.place(s)
}

// readLine understands one line; name is that of its database, empty when it
// refers to none.
func readLine(line []byte) (q row, name string, err error) {
	var l struct {
		ID      *int64          `json:"id"`
		Success *bool           `json:"success"`
		Error   json.RawMessage `json:"error_info"`
		Points  json.RawMessage `json:"time_points"`
		In      *int64          `json:"input_tokens"`
		Out     *int64          `json:"output_tokens"`
		UUID    string          `json:"uuid"`
		Turn    int             `json:"turn_id"`
		DB      string          `json:"db_name"`
		Data    string          `json:"data_abbr"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) {
			return q, "", fmt.Errorf("field %s holds %s, which AISBench does not write there", typ.Field, typ.Value)
		}
		return q, "", fmt.Errorf("no JSON object, torn or not of AISBench: %w", err)
	}
	if l.Success == nil || l.ID == nil {
		return q, "", errors.New("fields success and id are missing: not a line of AISBench's performance details")
	}
	q = row{id: *l.ID, ok: *l.Success, uuid: l.UUID, turn: l.Turn, data: l.Data}
	// 0 is what AISBench writes when the server gave no count.
	for _, c := range []struct {
		to   *int64
		from *int64
	}{{&q.in, l.In}, {&q.out, l.Out}} {
		if c.from != nil && *c.from < 0 {
			return q, "", fmt.Errorf("a token count of %d", *c.from)
		}
		if c.from != nil {
			*c.to = *c.from
		}
	}
	if q.id < 0 || q.turn < 0 {
		return q, "", fmt.Errorf("id %d, turn_id %d: below 0", q.id, q.turn)
	}
	if !q.ok {
		if json.Unmarshal(l.Error, &q.why) != nil {
			q.why = string(l.Error)
		}
		q.why = plainText(q.why)
	}
	var ref struct {
		Row *int64 `json:"__db_ref__"`
	}
	if json.Unmarshal(l.Points, &ref) == nil && ref.Row != nil {
		q.ref, q.stored = *ref.Row, true
	}
	if q.ok && !q.stored {
		return q, "", errors.New("a success whose time_points refer to no row of a database")
	}
	if q.stored && (l.DB == "" || l.DB != filepath.Base(l.DB) || strings.ContainsAny(l.DB, `/\`)) {
		return q, "", fmt.Errorf("db_name %.60q is not the name of a file", l.DB)
	}
	return q, l.DB, nil
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m") // AISBench colours its messages

func plainText(s string) string {
	var none *secret.Set
	return none.Line(escapes.ReplaceAllString(s, ""), 400)
}

// header is the tape's first line: what is known, and in words what is not.
func (r *result) header(set settings, path string, writer tape.Tool) *tape.Header {
	model, data := filepath.Base(r.dir), r.dataset
	load := map[string]any{"requests": len(r.rows)}
	if set.cap > 0 {
		load["concurrency"] = set.cap
	}
	spec, _ := json.Marshal(map[string]any{
		"name": model + "/" + data, "workload": map[string]any{"stream": set.stream}, "load": load,
	})
	h := &tape.Header{
		Type: "header", Schema: tape.Schema, Run: runID(r.dir, r.sum), Name: model + "/" + data, Tool: writer,
		Anchor: tape.Anchor{Clock: "monotonic", ReadStamp: "import"}, Spec: spec,
		Plan: tape.PlanRef{Rows: int64(len(r.rows)), Kind: "rows"}, Data: tape.DataRef{Path: data},
		Import: &tape.Import{Tool: Tool, Path: path},
		Notes: []string{
			"imported from AISBench, which records neither wall time, due times, connections, writes, attempts and reasons of failure, nor what an event carried: " +
				"none of that was observed, and first and last token are not known; E2E here ends at the last event; report --as aisbench shows that tool's own numbers",
		},
	}
	if r.killed {
		h.Notes = append(h.Notes, fmt.Sprintf("the run never ended: this is what its workers had written to tmp/ by then, %d requests%s", len(r.rows), torn(r.torn)))
	}
	if set.cap == 0 {
		h.Notes = append(h.Notes, "the cap on requests in flight (AISBench's batch_size) is not known: no stable window; import again with --cap")
	}
	if !set.streamKnown {
		h.Notes = append(h.Notes, "that the answers were streams is supposed, as AISBench does; if not, import again with --stream=false")
	}
	return h
}

var workFolder = regexp.MustCompile(`^\d{8}_\d{6}$`)

// runID is made of the result alone, so that the same one gives the same tape: the
// name of the work folder, if there is one, and the hash of the details.
func runID(dir, sum string) string {
	id := "aisbench"
	if work := filepath.Base(filepath.Dir(filepath.Dir(dir))); workFolder.MatchString(work) {
		id = strings.Replace(work, "_", "T", 1)
	}
	return id + "-" + sum[:10]
}

func torn(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d of which only the beginning was written", n)
}
