package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"tokentape/internal/report/html"
)

// sweepName is the file that makes a folder one of a sweep or search, whose runs lie
// below points/; curvesName is the page of its curves.
const (
	sweepName  = "sweep.json"
	curvesName = "curve.html"
	pointsName = "points"
)

// StateSweep is the state of an entry that is a sweep or search, not a run.
const StateSweep = "sweep"

// mostManifest bounds what is read of a sweep.json, in bytes.
const mostManifest = 16 << 20

// manifest is the part of sweep.json that a list needs.
type manifest struct {
	Schema string   `json:"schema"`
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	Fields []string `json:"fields"`
	Points []struct {
		State string    `json:"state"`
		Began time.Time `json:"began"`
	} `json:"points"`
}

// sweep reports a candidate that is a sweep.
func (c candidate) sweep() bool { return path.Base(c.rel) == sweepName }

// below reports whether a run is a point of the sweep.
func (c candidate) below(sweep candidate) bool {
	return strings.HasPrefix(c.rel, path.Join(path.Dir(sweep.rel), pointsName)+"/")
}

// readSweep makes the entry of a sweep; nil: the file is none.
func (x *index) readSweep(c candidate) *Entry {
	e := &Entry{ID: idOf(c.rel), Path: shown(path.Dir(c.rel), mostText), Bytes: c.tape.size, State: StateSweep}
	f, err := x.open(c.rel)
	if err != nil {
		return e.broken(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostManifest+1))
	var m manifest
	switch {
	case err != nil:
		return e.broken(err)
	case len(text) > mostManifest:
		return e.broken(fmt.Errorf("%s has more than %d MiB", sweepName, mostManifest>>20))
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return e.broken(fmt.Errorf("%s: %w", sweepName, err))
	}
	if !strings.HasPrefix(m.Schema, "tokentape.sweep/") {
		return nil // some other file of that name
	}
	e.Name = shown(m.Name, mostText)
	if e.Name == "" {
		e.Name = e.Path
	}
	done := 0
	for _, p := range m.Points {
		if p.State == "done" {
			done++
		}
		if began := p.Began.UTC(); !p.Began.IsZero() && (e.Started == "" || began.Format(time.RFC3339) < e.Started) {
			e.Started = began.Format(time.RFC3339)
		}
	}
	e.Points = len(m.Points)
	e.Line = shown(fmt.Sprintf("%s over %s: %d of %d points are measured", m.Kind, strings.Join(m.Fields, ", "), done, len(m.Points)), mostLine)
	if c.results == (stamp{}) {
		e.Line += "; there is no " + curvesName + " yet: " + makes(e.Path)
	}
	return e
}

// makes is the command that makes the page of a sweep.
func makes(dir string) string {
	return "tokentape report " + dir + " --format html --out " + path.Join(dir, curvesName) + " makes it"
}

// sweepPage answers /sweep/ID/ with the curves of a sweep, and what these lead to, the
// reports of its points, with the run's own page. Paths are held against those of the
// runs that are known, and open nothing.
func (s *Server) sweepPage(w http.ResponseWriter, r *http.Request, rest string) {
	id, to, slash := strings.Cut(rest, "/")
	c, e, ok := s.find(r.Context(), id)
	if !ok || e.State != StateSweep {
		refuse(w, http.StatusNotFound, gone)
		return
	}
	if !slash {
		http.Redirect(w, r, "/sweep/"+id+"/", http.StatusFound)
		return
	}
	if to != "" {
		if run, ok := s.index.at(path.Join(path.Dir(c.rel), path.Dir(path.Clean("/"+to)))); ok {
			http.Redirect(w, r, "/run/"+run, http.StatusFound)
			return
		}
		refuse(w, http.StatusNotFound, gone)
		return
	}
	page, err := s.index.curves(c)
	if err != nil {
		refuse(w, http.StatusNotFound, fmt.Sprintf("%s: %v; %s", curvesName, err, makes(e.Path)))
		return
	}
	w.Header().Set("Content-Security-Policy", html.CurvePolicy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(s.withBack(page, s.langOf(r)))
}

// curves is the page of a sweep's curves, as it lies beside sweep.json.
func (x *index) curves(c candidate) ([]byte, error) {
	f, err := x.open(path.Join(path.Dir(c.rel), curvesName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page, err := io.ReadAll(io.LimitReader(f, mostPage+1))
	switch {
	case err != nil:
		return nil, err
	case len(page) > mostPage || !bytes.HasPrefix(page, []byte("<!doctype html>")):
		return nil, errors.New("not a page of tokentape")
	}
	return page, nil
}

// at is the run whose folder has that path.
func (x *index) at(dir string) (id string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, s := range x.by {
		if s.entry != nil && s.named() && path.Dir(s.rel) == dir {
			return id, true
		}
	}
	return "", false
}

// withBack puts a way back to the list into a page of a run or sweep.
func (s *Server) withBack(page []byte, lang string) []byte {
	bar := []byte(`<div class="bar-in">`)
	back := fmt.Appendf(nil, `%s<a href="/%s">← %s</a>`, bar, map[bool]string{true: "?lang=" + lang}[lang != s.o.Lang], say("view.runs", lang))
	return bytes.Replace(page, bar, back, 1)
}
