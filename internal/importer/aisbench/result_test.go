package aisbench

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/tape"
)

const (
	vectors = "testdata/vectors"
	inside  = "20261101_120000/performances/vllm-api-stream-chat"
)

func write(path string, o Options) ([]byte, *Summary, error) {
	var b bytes.Buffer
	w := tape.NewWriter(&b, false)
	s, err := Write(w, path, o)
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), s, err
}

func read(t *testing.T, b []byte) (h *tape.Header, reqs []*tape.Request, f *tape.Footer) {
	t.Helper()
	r := tape.NewReader(bytes.NewReader(b))
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return h, reqs, f
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *tape.Header:
			h = rec
		case *tape.Request:
			reqs = append(reqs, rec)
		case *tape.Footer:
			f = rec
		case *tape.Fault:
			t.Errorf("a fault: %s", rec)
		}
	}
}

// What the files hold is on the tape; what they do not is not.
func TestWrite(t *testing.T) {
	b, s, err := write(filepath.Join(vectors, "failures"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests != 80 || s.OK != 70 || s.Cap != 8 || s.CapFrom != fromCase || !s.Stream || s.StreamSupposed {
		t.Errorf("%+v", s)
	}
	h, reqs, f := read(t, b)
	if h.Import == nil || h.Import.Tool != "aisbench" || h.Anchor.Wall != "" || !strings.HasPrefix(h.Run, "20261101T120000-") || len(h.Notes) != 1 {
		t.Errorf("header %+v", h)
	}
	if f.Planned != 80 || f.OK != 70 || f.Failed["unknown"] != 10 || f.Reason != tape.ReasonImported {
		t.Errorf("footer %+v", f)
	}
	// Lines 1 and 2 of the details, and rows 1 and 2 of the database.
	ok, bad := reqs[0], reqs[1]
	if ok.Ref.Row != 1 || ok.Outcome != tape.OutcomeOK || ok.Tokens.Input != tape.Some(int64(138)) || ok.Tokens.InputSource != tape.SourceUsage ||
		len(ok.Src.T) != 3 || ok.Src.T[0] != 1000.0006425685301 || ok.Src.T[2] != 1000.0519132134111 ||
		ok.TReleased != tape.Some(int64(0)) || ok.TFirstEvent != tape.Some(int64(51109641)) || ok.TEnd != tape.Some(int64(51270645)) {
		t.Errorf("request %+v, %v", ok, ok.Src)
	}
	if ok.TFirstToken.OK || ok.TLastToken.OK || ok.TWroteFirst.OK || ok.TDue.OK || !ok.Events.IsZero() || ok.HTTP.Status != 0 || ok.Finish != "" {
		t.Errorf("more is known than was recorded: %+v", ok)
	}
	if bad.Ref.Row != 0 || bad.Outcome != tape.OutcomeUnknown || bad.Message != "Internal Server Error" || bad.Tokens.Input.OK || bad.TEnd.OK ||
		bad.TReleased != tape.Some(int64(-477335)) {
		t.Errorf("failed request %+v", bad)
	}
	again, _, err := write(filepath.Join(vectors, "failures"), Options{})
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("the same result gives another tape (%v)", err)
	}
}

// A result is found by any folder around it, and the settings by where they are.
func TestPlacesAndSettings(t *testing.T) {
	base := filepath.Join(vectors, "not_streaming")
	for _, c := range []struct {
		path     string
		o        Options
		cap      int64
		from     string
		stream   bool
		supposed bool
	}{
		{base, Options{}, 4, fromCase, false, false},
		{base, Options{Cap: 9, Stream: tape.Some(true)}, 9, fromFlag, true, false},
		{filepath.Join(base, "20261101_120000"), Options{}, 0, "", true, true},
		{filepath.Join(base, "20261101_120000/performances"), Options{Cap: 3}, 3, fromFlag, true, true},
		{filepath.Join(base, inside), Options{Stream: tape.Some(false)}, 0, "", false, false},
		{filepath.Join(base, inside, "demo_details.jsonl"), Options{}, 0, "", true, true},
	} {
		_, s, err := write(c.path, c.o)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if s.Cap != c.cap || s.CapFrom != c.from || s.Stream != c.stream || s.StreamSupposed != c.supposed || s.Requests != 40 {
			t.Errorf("%s: %+v, want %+v", c.path, s, c)
		}
	}
	dir := t.TempDir()
	copyDir(t, filepath.Join(base, inside), dir)
	table, err := os.ReadFile(filepath.Join(base, "expected_total/demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "demo.json"), table)
	if _, s, err := write(dir, Options{}); err != nil || s.Cap != 4 || s.CapFrom != fromResult {
		t.Errorf("AISBench's own table: %+v, %v", s, err)
	}
	work := t.TempDir()
	copyDir(t, filepath.Join(base, inside), filepath.Join(work, "performances/chat"))
	put(t, filepath.Join(work, "configs/20261101_120000_77.py"), []byte(`models = [dict(abbr='other', batch_size=3, stream=True),
    dict(abbr='chat', api_key='sk-x', type='ais_bench.benchmark.models.VLLMCustomAPIChat', batch_size=44, stream=False)]
`))
	put(t, filepath.Join(work, "configs/20261101_120001_78.py"), []byte("models = [(\n"))
	if _, s, err := write(work, Options{}); err != nil || s.Cap != 44 || s.CapFrom != fromConfig || s.Stream || s.StreamSupposed {
		t.Errorf("the config beside it: %+v, %v", s, err)
	}
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// Every fault of the files is said with its place, and nothing passes silently.
func TestBadResults(t *testing.T) {
	const details, db = "demo_details.jsonl", "db_data/0a1b2c3d.db"
	edit := func(name, old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("no %q in %s", old, name)
			}
			put(t, path, bytes.Replace(b, []byte(old), []byte(new), 1))
		}
	}
	lines := func(t *testing.T, dir string, f func(lines []string) []string) {
		b, err := os.ReadFile(filepath.Join(dir, details))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, details), []byte(strings.Join(f(strings.SplitAfter(string(b), "\n")), "")))
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, dir string)
		want []string
	}{
		{"no database", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, db)) }, []string{"0a1b2c3d.db is missing", "db_data/", "tmp_"}},
		{"no details", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, details)) }, []string{"holds no NAME_details.jsonl"}},
		{"no request", func(t *testing.T, dir string) { put(t, filepath.Join(dir, details), []byte("\n\n")) }, []string{details, "no request in it"}},
		{"rows nobody asks for", func(t *testing.T, dir string) { lines(t, dir, func(l []string) []string { return l[3:] }) }, []string{db, "it holds 80 rows, but", "asks for 77"}},
		{"a line twice", func(t *testing.T, dir string) {
			lines(t, dir, func(l []string) []string { return append(l[:80], l[4]) })
		}, []string{details + ":81: row 5 of 0a1b2c3d.db belongs to line 5 already"}},
		{"a torn line", func(t *testing.T, dir string) {
			lines(t, dir, func(l []string) []string { l[79] = l[79][:60]; return l })
		}, []string{details + ":80: no JSON object, torn"}},
		{"another file", func(t *testing.T, dir string) { put(t, filepath.Join(dir, details), []byte(`{"question":"q"}`)) }, []string{details + ":1: fields success and id are missing"}},
		{"a word for a count", edit(details, `"input_tokens": 138`, `"input_tokens": "many"`), []string{details + ":1: field input_tokens holds string"}},
		{"a count below 0", edit(details, `"input_tokens": 138`, `"input_tokens": -138`), []string{details + ":1: a token count of -138"}},
		{"no time points", edit(details, `{"__db_ref__": 1}`, `null`), []string{details + ":1: a success whose time_points refer to no row"}},
		{"a way out of the folder", edit(details, `"db_name": "0a1b2c3d.db"`, `"db_name": "../../secret.db"`), []string{details + `:1: db_name "../../secret.db" is not the name of a file`}},
		{"a failure called success", edit(details, `"id": 0, "success": false`, `"id": 0, "success": true`), []string{details + ":2: a success of 1 time points", "row 2 of 0a1b2c3d.db"}},
		{"a torn array", edit(db, "'shape': (3,), ", "'shape': (4,), "), []string{"0a1b2c3d.db: row ", "torn, its head tells of 4 values", details + ":"}},
		{"a torn database", func(t *testing.T, dir string) {
			b, _ := os.ReadFile(filepath.Join(dir, db))
			put(t, filepath.Join(dir, db), b[:len(b)-4096])
		}, []string{db, "torn: its head tells of 7 pages"}},
		{"no database at all", func(t *testing.T, dir string) { put(t, filepath.Join(dir, db), []byte("hello")) }, []string{db, "not an SQLite 3 database"}},
		{"a writer at work", func(t *testing.T, dir string) { put(t, filepath.Join(dir, db+"-wal"), []byte("x")) }, []string{db + "-wal", "sqlite3 "}},
		{"two results", func(t *testing.T, dir string) {
			for _, m := range []string{"m1", "m2"} {
				put(t, filepath.Join(dir, "performances", m, details), []byte("{}"))
			}
			os.Remove(filepath.Join(dir, details))
		}, []string{"holds results of 2 runs; name one of them"}},
		{"a bad case.json", func(t *testing.T, dir string) { put(t, filepath.Join(dir, "case.json"), []byte("{")) }, []string{"case.json", "--cap and --stream"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			copyDir(t, filepath.Join(vectors, "failures", inside), dir)
			c.do(t, dir)
			_, s, err := write(dir, Options{Cap: 8})
			if err == nil {
				t.Fatalf("imported: %+v", s)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v\nwant %q", err, w)
				}
			}
		})
	}
}

// A success whose time points were never committed is a failure, as AISBench
// counts it, and says so.
func TestUncommitted(t *testing.T) {
	dir := t.TempDir()
	copyDir(t, filepath.Join(vectors, "closed_c4", inside), dir)
	path := filepath.Join(dir, "demo_details.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, bytes.Replace(b, []byte(`{"__db_ref__": 40}`), []byte(`{"__db_ref__": 41}`), 1))
	got, s, err := write(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Uncommitted != 1 || s.OK != 39 {
		t.Errorf("%+v", s)
	}
	_, reqs, _ := read(t, got)
	if q := reqs[39]; q.Outcome != tape.OutcomeUnknown || !strings.Contains(q.Message, "row 41 of 0a1b2c3d.db, were never committed") || q.Src != nil {
		t.Errorf("%+v", q)
	}
}

// What a killed run left in tmp/ is read as a run that never ended: the last line
// may be cut off, rows may be missing in a database, or be there without a line, and
// a database may not be there at all.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(vectors, "closed_c4", inside)
	db, err := os.ReadFile(filepath.Join(from, "db_data/0a1b2c3d.db"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(from, "demo_details.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	model := filepath.Join(dir, "performances/m")
	put(t, filepath.Join(model, "tmp/tmp_0a1b2c3d.jsonl"), append(bytes.Join(lines[:29], nil), lines[29][:50]...))
	put(t, filepath.Join(model, "tmp/tmp_0a1b2c3d.db"), db)
	lost := bytes.ReplaceAll(lines[30], []byte("0a1b2c3d.db"), []byte("ffffffff.db"))
	put(t, filepath.Join(model, "tmp/tmp_ffffffff.jsonl"), lost)
	got, s, err := write(dir, Options{Cap: 4})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Killed || s.Torn != 1 || s.Requests != 30 || s.OK != 29 || s.Uncommitted != 1 || s.Databases != 2 {
		t.Errorf("%+v", s)
	}
	h, reqs, foot := read(t, got)
	if foot != nil || len(reqs) != 30 || !strings.Contains(strings.Join(h.Notes, "\n"), "the run never ended") || h.Name != "m/demo" {
		t.Errorf("footer %+v, %d requests, %s, notes %v", foot, len(reqs), h.Name, h.Notes)
	}

	other := bytes.Replace(lines[31], []byte(`"demo"`), []byte(`"other"`), 1)
	put(t, filepath.Join(model, "tmp/tmp_ffffffff.jsonl"), other)
	if _, _, err := write(dir, Options{}); err == nil || !strings.Contains(err.Error(), "several datasets, demo and other; say which: --dataset demo") {
		t.Errorf("two datasets: %v", err)
	}
	if _, s, err := write(dir, Options{Dataset: "other"}); err != nil || s.Requests != 1 || s.OK != 1 {
		t.Errorf("one of two datasets: %+v, %v", s, err)
	}
	put(t, filepath.Join(dir, "performances/n/tmp/tmp_1.jsonl"), nil)
	if _, _, err := write(dir, Options{}); err == nil || !strings.Contains(err.Error(), "several killed runs") {
		t.Errorf("two models: %v", err)
	}
}

// Requests of several workers follow each other database by database.
func TestSeveralDatabases(t *testing.T) {
	dir := t.TempDir()
	copyDir(t, filepath.Join(vectors, "closed_c4", inside), dir)
	copyDir(t, filepath.Join(vectors, "not_streaming", inside, "db_data"), filepath.Join(dir, "other"))
	if err := os.Rename(filepath.Join(dir, "other/0a1b2c3d.db"), filepath.Join(dir, "db_data/ffffffff.db")); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(filepath.Join(vectors, "closed_c4", inside, "demo_details.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(vectors, "not_streaming", inside, "demo_details.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte("0a1b2c3d.db"), []byte("ffffffff.db"))
	var mixed []byte
	la, lb := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
	for i := range 40 {
		mixed = append(append(mixed, bytes.TrimSuffix(la[i], []byte("\n"))...), '\n')
		mixed = append(append(mixed, bytes.TrimSuffix(lb[i], []byte("\n"))...), '\n')
	}
	put(t, filepath.Join(dir, "demo_details.jsonl"), mixed)
	got, s, err := write(dir, Options{})
	if err != nil || s.Databases != 2 || s.Requests != 80 {
		t.Fatalf("%+v, %v", s, err)
	}
	_, reqs, _ := read(t, got)
	for i, q := range reqs {
		if points := len(q.Src.T); i < 40 && points < 3 || i >= 40 && points != 2 || q.Seq != int64(i) {
			t.Fatalf("request %d has %d points", i, points)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"id": 1, "success": true, "error_info": "", "time_points": {"__db_ref__": 1}, "input_tokens": 138, "output_tokens": 1, "uuid": "1", "turn_id": 0, "db_name": "0a1b2c3d.db"}`))
	f.Add([]byte(`{"id": 0, "success": false, "error_info": {"a": 1}, "time_points": null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		q, name, err := readLine(line)
		if err != nil {
			return
		}
		if q.stored && (name == "" || strings.ContainsAny(name, `/\`)) || q.ok && !q.stored || q.in < 0 || q.out < 0 || len(q.why) > 400 {
			t.Fatalf("%+v %q", q, name)
		}
	})
}
