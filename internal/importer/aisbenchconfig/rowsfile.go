package aisbenchconfig

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
)

// seed of what is drawn when rows are made: a config imports to the same rows.
const seed = 1

func drawing() *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// maxRow bounds a line of a rows file that is read here.
const maxRow = 64 << 20

// eachRow calls see with the fields of every row of a JSONL or CSV file.
func eachRow(path string, see func(line int, fields map[string]json.RawMessage) error) error {
	f, err := pyconf.Open(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	if b, err := in.Peek(3); err == nil && bytes.Equal(b, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3) // peeked
	}
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		r := csv.NewReader(in)
		head, err := r.Read()
		if err != nil {
			return fmt.Errorf("%s: the line of column names: %w", path, err)
		}
		for line := 2; ; line++ {
			cells, err := r.Read()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			fields := map[string]json.RawMessage{}
			for i, c := range cells {
				fields[head[i]], _ = json.Marshal(c) // a text always encodes
			}
			if err := see(line, fields); err != nil {
				return err
			}
		}
	}
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 1<<16), maxRow)
	for line := 1; s.Scan(); line++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(s.Bytes(), &fields); err != nil {
			return fmt.Errorf("%s:%d: the row is no JSON object: %w", path, line, err)
		}
		if err := see(line, fields); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeRow(w io.Writer, row any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(row); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// firstStamp is the least timestamp of a trace, in its own unit.
func firstStamp(path string) (int64, string) {
	least := math.Inf(1)
	err := eachRow(path, func(_ int, fields map[string]json.RawMessage) error {
		if v, err := strconv.ParseFloat(string(fields["timestamp"]), 64); err == nil {
			least = min(least, v)
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, err.Error()
	case math.IsInf(least, 0):
		return 0, "no row has a timestamp"
	}
	return int64(least), ""
}

// metaFile is the file beside a custom dataset that says how to use it.
type metaFile struct {
	Output *struct {
		Method string                     `json:"method"`
		Params map[string]json.RawMessage `json:"params"`
	} `json:"output_config"`
	Count    *int64 `json:"request_count"`
	Sampling string `json:"sampling_mode"`
}

// meta reads FILE.meta.json, or what the config names.
func (j *job) meta(r *record, rows *rowsOf, data string, f pyconf.Field) {
	c := j.c
	path, mf := r.text("meta_path")
	if path == "" {
		path, mf = r.text("custom_dataset_meta_path")
	}
	if path == "" {
		path = data + ".meta.json"
		if _, err := os.Stat(path); err != nil {
			return
		}
	} else if found, ok := c.find(path); ok {
		path = found
	}
	place := pyconf.Pos{File: path, Line: 1, Col: 1}
	b, err := pyconf.ReadFile(path)
	if err != nil {
		c.refuse(cmpAt(mf.At, f.At), "put it there, or remove it", "cannot read the meta file %s: %v", path, errors.Unwrap(err))
		return
	}
	var m metaFile
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		c.refuse(place, "its keys: output_config, request_count, sampling_mode", "the meta file cannot be read: %v", err)
		return
	}
	note := c.short(place) + " "
	n := int64(0)
	if m.Count != nil {
		if n = *m.Count; n < 1 {
			c.refuse(place, "1 or more", "request_count is %d", n)
			return
		}
	}
	switch m.Sampling {
	case "", "default":
	case "shuffle", "random":
		rows.shuffle = note + "sampling_mode"
		c.warn(place, "sampling_mode", "%s: AISBench draws without a seed; here seeds.order repeats the order", m.Sampling)
	default:
		c.refuse(place, "shuffle or random", "sampling_mode %q is not known", m.Sampling)
	}
	if n > 0 {
		if m.Sampling == "shuffle" && m.Output == nil { // the first N, in another order
			j.sheet.set("workload.dataset.limit", n, note+"request_count")
		}
		rows.n, rows.nNote = n, note+"request_count"
	}
	if m.Output == nil {
		return
	}
	j.lengths(&m, rows, data, place, n)
}

func cmpAt(a, b pyconf.Pos) pyconf.Pos {
	if a.Line > 0 {
		return a
	}
	return b
}

// lengths makes a copy of the rows with the output lengths that output_config
// asks for.
func (j *job) lengths(m *metaFile, rows *rowsOf, data string, place pyconf.Pos, n int64) {
	c := j.c
	have := int64(0)
	if err := eachRow(data, func(int, map[string]json.RawMessage) error { have++; return nil }); err != nil || have == 0 {
		c.refuse(place, "output_config is for .jsonl and .csv files with rows", "output_config: the rows cannot be read: %v", err)
		return
	}
	if n == 0 {
		n = have
	}
	var lens []int64
	rng := drawing()
	switch m.Output.Method {
	case "uniform":
		var lo, hi int64
		if json.Unmarshal(m.Output.Params["min_value"], &lo) != nil || json.Unmarshal(m.Output.Params["max_value"], &hi) != nil || lo < 1 || hi < lo {
			c.refuse(place, `{"min_value": 16, "max_value": 64}`, "output_config: uniform needs min_value and max_value, whole numbers from 1")
			return
		}
		for range n {
			lens = append(lens, lo+rng.Int64N(hi-lo+1))
		}
	case "percentage":
		var shares [][2]float64
		for _, raw := range m.Output.Params {
			if json.Unmarshal(raw, &shares) == nil && len(shares) > 0 {
				break
			}
		}
		sum := 0.0
		for _, s := range shares {
			sum += s[1]
		}
		if math.Abs(sum-1) > 1e-9 {
			c.refuse(place, "such as [[16, 0.5], [64, 0.5]]", "output_config: the shares of percentage come to %v, not 1", sum)
			return
		}
		for _, s := range shares {
			for range int64(math.Floor(s[1]*float64(n) + 1e-9)) {
				lens = append(lens, int64(s[0]))
			}
		}
		for int64(len(lens)) < n {
			lens = append(lens, int64(shares[len(shares)-1][0]))
		}
	default:
		c.refuse(place, "uniform or percentage", "output_config: the method %q is not known", m.Output.Method)
		return
	}
	rows.n, rows.nNote = n, c.short(place)+" request_count"
	rows.have = n
	if m.Count == nil {
		rows.nNote = "as many as " + rows.abbr + " has rows"
	}
	rows.note += "; lengths of " + c.short(place) + " output_config"
	c.warn(place, "output_config", "the rows are copied with a max_tokens of their own; AISBench draws its lengths without a seed, here an import repeats them")
	j.files = append(j.files, File{"rows.jsonl", func(w io.Writer) error {
		for done := int64(0); done < n; {
			err := eachRow(data, func(line int, fields map[string]json.RawMessage) error {
				if done == n {
					return nil
				}
				fields["max_tokens"] = json.RawMessage(strconv.FormatInt(lens[done], 10))
				done++
				return writeRow(w, fields)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}})
}

// mtbench copies rows of several prompts as messages.
func (j *job) mtbench(r *record, rows *rowsOf) {
	c := j.c
	path, f := r.text("path")
	found, ok := c.find(path)
	if path == "" || !ok {
		c.refuse(at(f, r.d), "put the file there: its rows are copied as messages", "the dataset %s: %q does not exist here", rows.abbr, path)
		return
	}
	type turn struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	convert := func(see func(messages []turn) error) error {
		return eachRow(found, func(line int, fields map[string]json.RawMessage) error {
			var prompts, answers []string
			if err := json.Unmarshal(fields["prompt"], &prompts); err != nil || len(prompts) == 0 {
				return fmt.Errorf("%s:%d: prompt is no list of texts", found, line)
			}
			_ = json.Unmarshal(fields["reference"], &answers) // may be missing
			var out []turn
			for i, p := range prompts {
				out = append(out, turn{"user", p})
				if i < len(answers) && i < len(prompts)-1 {
					out = append(out, turn{"assistant", answers[i]})
				}
			}
			return see(out)
		})
	}
	if err := convert(func([]turn) error { rows.n++; return nil }); err != nil {
		c.refuse(f.At, `rows such as {"prompt": ["…", "…"], "reference": ["…", "…"]}`, "%v", err)
		return
	}
	rows.note = c.from(f) + ", as messages"
	rows.nNote, rows.have = "as many as "+rows.abbr+" has conversations", rows.n
	j.files = append(j.files, File{"rows.jsonl", func(w io.Writer) error {
		return convert(func(m []turn) error { return writeRow(w, map[string]any{"messages": m}) })
	}})
	j.sheet.set("workload.dataset.path", "rows.jsonl", rows.note)
	j.sheet.set("workload.dataset.format", "messages", c.from(pyconf.Field{Name: "type", At: typeAt(r.d)}))
}
