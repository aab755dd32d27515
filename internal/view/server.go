package view

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"tokentape/internal/report/html"
)

// Options of a Server.
type Options struct {
	Dir   string   // the folder
	Lang  string   // in which pages begin, one of html.Languages; "": English
	Token string   // that has to be shown; "": none. See NewToken.
	Hosts []string // names that requests may be sent to, beside addresses and localhost
	Cache int64    // bytes of pages and data that are kept; 0: 128 MiB
}

// Limits of a Server.
const (
	defaultCache = 128 << 20
	scanPatience = time.Second // a list that takes longer is shown as far as it is
	mostSides    = 8           // runs that are overlaid: as many as can be told apart
	grace        = 2 * time.Second
)

// NewToken is a random token of 256 bits, as text for a URL.
func NewToken() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails: see its documentation
	return hex.EncodeToString(b)
}

// Server answers GET requests about the runs below a folder. It is an http.Handler.
type Server struct {
	o     Options
	dir   string // as people know it
	index *index
	works *works
	stop  context.CancelFunc
}

// New opens the folder. Errors: it is none, or cannot be read.
func New(o Options) (*Server, error) {
	if o.Lang == "" {
		o.Lang = html.Languages()[0]
	}
	if o.Cache == 0 {
		o.Cache = defaultCache
	}
	x, err := newIndex(o.Dir)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{o: o, dir: o.Dir, index: x, works: newWorks(ctx, o.Cache), stop: stop}
	if abs, err := filepath.Abs(o.Dir); err == nil {
		s.dir = abs
	}
	return s, nil
}

// Close ends what is being read, and forgets the folder.
func (s *Server) Close() error {
	s.stop()
	s.works.wait()
	return s.index.root.Close()
}

// Serve answers until ctx ends, then lets answers on their way out finish, for 2 s at
// most. It closes ln. Errors: those of ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0), // what a client did wrong is told the client
	}
	ended := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(ended)
		s.stop()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if srv.Shutdown(late) != nil {
			srv.Close()
		}
	})
	err := srv.Serve(ln)
	if !release() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admit(w, r) {
		return
	}
	path := r.URL.Path
	switch {
	case path == "/":
		s.render(w, http.StatusOK, "list.html", s.data(r))
	case path == "/compare":
		s.render(w, http.StatusOK, "compare.html", s.data(r))
	case path == "/view.css":
		tagged(w, r, "text/css; charset=utf-8", style())
	case path == "/view.js":
		tagged(w, r, "text/javascript; charset=utf-8", script())
	case path == "/api/runs":
		s.list(w, r)
	case path == "/api/compare":
		s.comparison(w, r)
	case strings.HasPrefix(path, "/sweep/"):
		s.sweepPage(w, r, strings.TrimPrefix(path, "/sweep/"))
	case strings.HasPrefix(path, "/run/"):
		s.run(w, r, strings.TrimPrefix(path, "/run/"))
	case strings.HasPrefix(path, "/api/run/"):
		s.progress(w, r, strings.TrimPrefix(path, "/api/run/"))
	case strings.HasPrefix(path, "/api/data/"):
		s.document(w, r, strings.TrimPrefix(path, "/api/data/"))
	default:
		refuse(w, http.StatusNotFound, "there is no such page; the list is at /")
	}
}

// langOf is the language that a request asks for.
func (s *Server) langOf(r *http.Request) string {
	for _, l := range html.Languages() {
		if l == r.URL.Query().Get("lang") {
			return l
		}
	}
	return s.o.Lang
}

// tagged answers with a body, or that the one that the client has is still right.
func tagged(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	h := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(h[:12]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache") // it may be kept, and is asked about
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(body)
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "a fault of tokentape: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

// list answers with what the folder holds now, as far as that is known within a second.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), scanPatience)
	defer cancel()
	s.index.refresh(ctx)
	body, err := json.Marshal(s.index.list())
	if err != nil {
		refuse(w, http.StatusInternalServerError, "a fault of tokentape: "+err.Error())
		return
	}
	tagged(w, r, "application/json", body)
}

// find is the run of an id; the folder is looked at again where it is not known yet.
func (s *Server) find(ctx context.Context, id string) (candidate, *Entry, bool) {
	c, e, ok := s.index.find(id)
	if !ok {
		s.index.refresh(ctx)
		c, e, ok = s.index.find(id)
	}
	return c, e, ok
}

const gone = "there is no such run in this folder (any more); the list is at /"

// pageKey names the page of a tape as it is now.
func pageKey(kind string, c candidate, lang string) string {
	return fmt.Sprintf("%s %s %d %d %s", kind, idOf(c.rel), c.tape.size, c.tape.mtime, lang)
}

func (s *Server) work(c candidate, lang string, again bool) ([]byte, *job, error) {
	return s.works.get(pageKey("page", c, lang), again, func(ctx context.Context, j *job) ([]byte, error) {
		return s.index.page(ctx, c, j, lang)
	})
}

// run answers with the page of a run, or with one that waits for it.
func (s *Server) run(w http.ResponseWriter, r *http.Request, id string) {
	c, e, ok := s.find(r.Context(), id)
	if ok && e.State == StateSweep {
		http.Redirect(w, r, "/sweep/"+id+"/", http.StatusFound)
		return
	}
	if !ok {
		refuse(w, http.StatusNotFound, gone)
		return
	}
	lang := s.langOf(r)
	var page []byte
	if lang == html.Languages()[0] { // the one that a run writes begins in English
		page = s.index.ready(c)
	}
	if page == nil {
		var err error
		if page, _, err = s.work(c, lang, true); errors.Is(err, errBusy) {
			busy(w)
			return
		}
	}
	if page != nil {
		w.Header().Set("Content-Security-Policy", html.Policy()+"; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(s.withBack(page, lang))
		return
	}
	d := s.data(r)
	d.ID, d.Name, d.Path = e.ID, e.Name, e.Path
	s.render(w, http.StatusAccepted, "wait.html", d)
}

// progress answers how far the page of a run is.
func (s *Server) progress(w http.ResponseWriter, r *http.Request, id string) {
	c, _, ok := s.find(r.Context(), id)
	if !ok {
		answer(w, http.StatusNotFound, progress{State: "failed", Why: gone})
		return
	}
	_, j, err := s.work(c, s.langOf(r), false)
	s.tell(w, j, err)
}

// tell answers for work that is not done: where it is, or why it failed.
func (s *Server) tell(w http.ResponseWriter, j *job, err error) {
	switch {
	case errors.Is(err, errBusy):
		busy(w)
	case err != nil:
		answer(w, http.StatusUnprocessableEntity, progress{State: "failed", Why: shown(err.Error(), mostLine)})
	case j != nil:
		answer(w, http.StatusAccepted, j.progress())
	default:
		answer(w, http.StatusOK, progress{State: "ready"})
	}
}

func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	answer(w, http.StatusServiceUnavailable, progress{State: "waiting", Why: errBusy.Error()})
}

// document answers with the data of a run's charts, or how far it is.
func (s *Server) document(w http.ResponseWriter, r *http.Request, id string) {
	c, _, ok := s.find(r.Context(), id)
	if !ok {
		answer(w, http.StatusNotFound, progress{State: "failed", Why: gone})
		return
	}
	lang := html.Languages()[0] // the words of both are in it
	body, j, err := s.works.get(pageKey("data", c, lang), r.URL.Query().Has("again"), func(ctx context.Context, j *job) ([]byte, error) {
		return s.index.document(ctx, c, j, lang)
	})
	if body == nil {
		s.tell(w, j, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(body)
}

// comparison answers with the comparison of runs with the first, or how far it is.
func (s *Server) comparison(w http.ResponseWriter, r *http.Request) {
	ids := r.URL.Query()["run"]
	if len(ids) < 2 || len(ids) > mostSides {
		answer(w, http.StatusUnprocessableEntity, progress{State: "failed", Why: fmt.Sprintf("%d runs: from 2 to %d can be compared", len(ids), mostSides)})
		return
	}
	var cs []candidate
	var key []string
	for _, id := range ids {
		c, _, ok := s.find(r.Context(), id)
		if !ok {
			answer(w, http.StatusNotFound, progress{State: "failed", Why: gone})
			return
		}
		cs, key = append(cs, c), append(key, pageKey("run", c, ""))
	}
	body, j, err := s.works.get(strings.Join(key, "|"), r.URL.Query().Has("again"), func(ctx context.Context, j *job) ([]byte, error) {
		return s.index.compare(ctx, cs, j)
	})
	if body == nil {
		s.tell(w, j, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

// render answers with one of our own pages.
func (s *Server) render(w http.ResponseWriter, status int, name string, d *pageData) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, d); err != nil {
		refuse(w, http.StatusInternalServerError, "a fault of tokentape: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}
