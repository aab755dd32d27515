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
	"os"
	"path/filepath"

	"tokentape/internal/analysis/as"
	"tokentape/tape"
)

// line is one line of details but for the texts, which come from the second pass.
type line struct {
	rec as.AISBenchRecord
	ref int64 // the row of its time points; 0: none
}

// texts are what a second pass over the tape gives of one request.
type texts struct {
	id         string
	prediction string
}

// details writes NAME_details.jsonl, NAME_failed.jsonl where a request failed, and
// the database. The order is that of the records; the tape has nearly the same, so
// that few texts wait for their turn.
func (l *Layout) details(r *as.Run, again as.Source) (err error) {
	type key struct {
		seq   int64
		phase tape.Phase
	}
	db := databaseName(r.ID)
	if err := os.MkdirAll(filepath.Join(l.folder(), "db_data"), 0o755); err != nil {
		return err
	}
	var lines []line
	place := map[key]int{}
	err = create(filepath.Join(l.folder(), "db_data", db), func(f *os.File) error {
		t := newTable(f)
		var blob []byte
		for rec := range as.AISBenchRecords(r) {
			var ref int64
			if len(rec.Points) > 0 {
				blob = appendNPY(blob[:0], rec.Points)
				if ref, err = t.insert(blob); err != nil {
					return err
				}
			}
			rec.Points = nil
			place[key{rec.Seq, rec.Phase}] = len(lines)
			lines = append(lines, line{rec, ref})
		}
		return t.close()
	})
	if err != nil {
		return err
	}

	failures := 0
	err = create(l.file("_failed.jsonl"), func(bad *os.File) error {
		failed := bufio.NewWriter(bad)
		return errors.Join(create(l.file("_details.jsonl"), func(f *os.File) error {
			out := bufio.NewWriterSize(f, 1<<20)
			next := 0
			waiting := map[int]texts{}
			for next < len(lines) {
				rec, err := again.Next()
				if errors.Is(err, io.EOF) {
					return fmt.Errorf("the tape gives other requests when read again: %d of %d", next, len(lines))
				}
				if err != nil {
					return err
				}
				q, ok := rec.(*tape.Request)
				if !ok {
					continue
				}
				at, ok := place[key{q.Seq, q.Phase}]
				if !ok || at < next {
					continue
				}
				waiting[at] = textsOf(q)
				for {
					t, ok := waiting[next]
					if !ok {
						break
					}
					delete(waiting, next)
					input, err := l.input(lines[next].rec.Seq)
					if err != nil {
						return err
					}
					out.Write(l.line(r, lines[next], t, input, db))
					if !lines[next].rec.Success {
						failures++
						failed.Write(pyObject(
							"data_abbr", l.Dataset, "id", lines[next].rec.Row, "input", input, "error_info", whyFailed(lines[next].rec)))
					}
					next++
				}
			}
			return out.Flush()
		}), failed.Flush())
	})
	if err == nil && failures == 0 {
		err = os.Remove(l.file("_failed.jsonl"))
	}
	return err
}

// textsOf takes the id and the answer, which AISBench keeps in one text: reasoning,
// </think>, content.
func textsOf(q *tape.Request) texts {
	t := texts{id: q.ID}
	if o := q.Output; o != nil {
		t.prediction = o.Text
		if o.Reasoning != "" {
			t.prediction = o.Reasoning + "</think>" + o.Text
		}
	}
	return t
}

func (l *Layout) input(seq int64) (json.RawMessage, error) {
	if l.Input == nil {
		return json.RawMessage(`""`), nil
	}
	return l.Input(seq)
}

// line is a line of details, fields in AISBench's order. Counts that the server did
// not give are 0, as there.
func (l *Layout) line(r *as.Run, d line, t texts, input json.RawMessage, db string) []byte {
	q := d.rec
	points := json.RawMessage("null")
	if d.ref > 0 {
		points = pyObject("__db_ref__", d.ref)
		points = points[:len(points)-1]
	}
	why := ""
	if !q.Success || !q.OK() {
		why = whyFailed(q)
	}
	empty := json.RawMessage("{}")
	return pyObject(
		"data_abbr", l.Dataset, "id", q.Row, "success", q.Success, "error_info", why, "time_points", points,
		"input_tokens", q.Tokens.Input.V, "output_tokens", q.Tokens.Output.V,
		"extra_perf_data", empty, "extra_details_data", empty,
		"input", input, "uuid", uuid(r.ID, q, t.id), "turn_id", q.Turn, "prediction", t.prediction, "db_name", db)
}

// whyFailed is never empty: the message, else the cause or the class.
func whyFailed(q as.AISBenchRecord) string {
	switch {
	case q.Message != "":
		return q.Message
	case q.OK(): // fewer than two points
		return "chunk size is less than 2"
	case q.Cause != "":
		return string(q.Outcome) + ": " + q.Cause
	}
	return string(q.Outcome)
}

// uuid is the id that the request carried; without one, and for the turns of a
// session, which AISBench gives one in common, it is made of what names them.
func uuid(run string, q as.AISBenchRecord, id string) string {
	if id != "" && !q.Session.OK {
		return id
	}
	name := fmt.Sprintf("%s request %d", run, q.Seq)
	if q.Session.OK {
		name = run + " session " + q.Session.V
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func databaseName(run string) string {
	sum := sha256.Sum256([]byte(run))
	return hex.EncodeToString(sum[:4]) + ".db"
}

// pyObject is a line of JSON as Python's json.dumps writes it with ensure_ascii off:
// scripts search it for texts such as "success": false.
func pyObject(pairs ...any) []byte {
	var b bytes.Buffer
	for i := 0; i < len(pairs); i += 2 {
		sep := ", "
		if i == 0 {
			sep = "{"
		}
		b.WriteString(sep)
		b.Write(pyJSON(pairs[i]))
		b.WriteString(": ")
		b.Write(pyJSON(pairs[i+1]))
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func pyJSON(v any) []byte {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // texts, numbers and booleans
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
