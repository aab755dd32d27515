package aisbench

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"tokentape/tape"
)

// requests writes a line a request, and the footer.
func (r *result) requests(w *tape.Writer, set settings, s *Summary) error {
	var db *database
	var file io.Closer
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	var epoch tape.Opt[float64] // the first start that was recorded is t = 0
	var last int64
	failed := int64(0)
	open := -1
	for seq := range r.rows {
		q := &r.rows[seq]
		var t []float64
		if q.stored {
			if q.db != open {
				if file != nil {
					file.Close()
				}
				var err error
				if db, file, err = r.database(q.db); err != nil {
					return err
				}
				open = q.db
			}
			if db != nil { // else, of a killed run, it was never made
				var err error
				if t, err = timePoints(db, q.ref); err != nil {
					return fmt.Errorf("%s: %w, for which %s asks", r.dbs[q.db], err, r.place(q.spot))
				}
			}
		}
		if q.ok && t == nil {
			s.Uncommitted++
			q.ok, q.why = false, fmt.Sprintf("its time points, row %d of %s, were never committed; AISBench counts such a request as failed", q.ref, r.dbs[q.db])
		}
		if q.ok && len(t) < 2 {
			return fmt.Errorf("%s: a success of %d time points; AISBench needs two (row %d of %s)", r.place(q.spot), len(t), q.ref, r.dbs[q.db])
		}
		if !epoch.OK && len(t) > 0 {
			epoch = tape.Some(t[0])
		}
		line := q.request(int64(seq), t, epoch.V, set.stream)
		last = max(last, line.TEnd.V, line.TReleased.V)
		if q.ok {
			s.OK++
			if !line.Tokens.Input.OK || !line.Tokens.Output.OK {
				s.Uncounted++
			}
		} else {
			failed++
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	if r.killed {
		return nil // without an end, as a run of our own that was killed
	}
	foot := &tape.Footer{Type: "footer", Reason: tape.ReasonImported, Planned: int64(len(r.rows)), OK: s.OK, Failed: map[string]int64{}, TEnd: last}
	if failed > 0 {
		foot.Failed[string(tape.OutcomeUnknown)] = failed
	}
	return w.Write(foot)
}

// database opens the database of index i and proves that it holds no more rows
// than the details ask for, where these are the only ones.
func (r *result) database(i int) (*database, io.Closer, error) {
	path := filepath.Join(r.dir, "db_data", r.dbs[i])
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(r.dir, "tmp", "tmp_"+r.dbs[i])
	}
	if st, err := os.Stat(path); r.killed && (err != nil || st.Size() == 0) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("%s is missing: neither in db_data/ nor, with tmp_ before its name, in tmp/ of %s; it holds the time points of %s", r.dbs[i], r.dir, r.name)
	}
	db, file, err := openDatabase(path, "numpy_store")
	if err != nil {
		return nil, nil, err
	}
	if others, _ := filepath.Glob(filepath.Join(globless(r.dir), "*"+suffix)); len(others) > 1 || r.killed {
		return db, file, nil // which share the databases, or lines are behind rows
	}
	asked := int64(0)
	for k := range r.rows {
		if r.rows[k].stored && r.rows[k].db == i {
			asked++
		}
	}
	have, err := db.count()
	if err == nil && have > asked {
		err = fmt.Errorf("it holds %d rows, but %s asks for %d: lines are missing there, or the two are of different runs", have, r.name, asked)
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return db, file, nil
}

// timePoints is the array of row id; nil when there is no such row.
func timePoints(db *database, id int64) ([]float64, error) {
	record, ok, err := db.get(id)
	if err != nil || !ok {
		return nil, err
	}
	v, err := columns(record)
	if err == nil && (len(v) != 2 || !v[1].blob) {
		err = errRecord
	}
	if err != nil {
		return nil, fmt.Errorf("row %d: %w", id, err)
	}
	t, err := points(v[1].bytes)
	if err != nil {
		return nil, fmt.Errorf("row %d: %w", id, err)
	}
	return t, nil
}

// request is the tape's line: stamps as far as AISBench took them, and its own
// numbers verbatim.
func (q *row) request(seq int64, t []float64, epoch float64, stream bool) *tape.Request {
	line := &tape.Request{
		Type: "request", Seq: seq, ID: strings.ToValidUTF8(q.uuid, "\uFFFD"), Phase: tape.PhaseMeasure, Turn: q.turn, Ref: tape.Ref{Row: q.id},
		Outcome: tape.OutcomeOK, Message: q.why,
	}
	if !q.ok {
		line.Outcome = tape.OutcomeUnknown
	}
	stamp := func(v float64) tape.Opt[int64] { return tape.Some(int64(math.Round((v - epoch) * 1e9))) }
	if len(t) > 0 {
		line.Src = &tape.Src{T: t}
		line.TReleased = stamp(t[0])
	}
	if len(t) > 1 {
		line.TEnd = stamp(t[len(t)-1])
		if stream {
			line.TFirstEvent = stamp(t[1])
		}
	}
	if !stream {
		line.Flags = []string{"not_streamed"}
	}
	if q.in > 0 {
		line.Tokens.Input, line.Tokens.InputSource = tape.Some(q.in), tape.SourceUsage
	}
	if q.out > 0 {
		line.Tokens.Output, line.Tokens.OutputSource = tape.Some(q.out), tape.SourceUsage
	}
	return line
}
