package simserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"tokentape/internal/wirecase"
)

// Script is a file of timelines (docs/timelines.md): its answers, those of all
// its variants, are what generation requests get, byte for byte. What it says of
// requests and expectations is not looked at.
type Script struct {
	Path   string  `json:"path"`
	Text   string  `json:"text,omitempty"`   // in place of the file's content
	Weight float64 `json:"weight,omitempty"` // 0: in rotation; else all have one, and each request draws by the seed
}

// rotation reads the scripts.
func (o *Options) rotation() (*wirecase.Rotation, error) {
	var scripts []wirecase.Script
	for _, s := range o.Scripts {
		var f *wirecase.File
		var err error
		if s.Text != "" {
			f, err = wirecase.Parse(s.Path, []byte(s.Text))
		} else {
			f, err = wirecase.Load(s.Path)
		}
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, wirecase.Script{File: f, Weight: s.Weight})
	}
	return wirecase.NewRotation(scripts, o.Seed)
}

// scripted reports whether a script answers the request: every POST but that to
// /flush_cache, so that a script can speak any dialect.
func (s *Server) scripted(r *http.Request) bool {
	return s.script != nil && r.Method == http.MethodPost && r.URL.Path != "/flush_cache"
}

// playScript takes the connection over: the script's bytes are all that goes out.
// It returns when the connection has ended.
func (s *Server) playScript(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			writeError(w, &apiError{http.StatusRequestEntityTooLarge, "BadRequestError", "The request body is larger than 64 MiB."})
		}
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		writeError(w, &apiError{http.StatusInternalServerError, "InternalServerError", "a script can be played over HTTP/1 alone: " + err.Error()})
		return
	}
	s.raw.Conn(conn, rw.Reader, r, body)
}

// pickScript is the answer to the next request of a connection that was taken
// over. Its truth is told when it begins.
func (s *Server) pickScript(r *http.Request, _ []byte) *wirecase.Answer {
	if !s.scripted(r) || !s.allowed(r) {
		return nil
	}
	s.count(r.URL.Path)
	n := int(s.number.Add(1) - 1)
	s.arrived(int64(n) + 1)
	a := s.script.Answer(n)
	if s.truths.wanted() {
		now := s.now()
		s.truths.add(Truth{
			ID: r.Header.Get("X-Request-Id"), N: n, Path: r.URL.Path, Status: statusOf(a.Head), Stream: true,
			Received: now, Arrived: -1, Admitted: -1, PrefillDone: -1, End: now, Fault: "script",
		})
	}
	return a
}

// statusOf is the code of a status line, 0 when there is none.
func statusOf(head []byte) int {
	if words := bytes.Fields(head); len(words) > 1 {
		if code, err := strconv.Atoi(string(words[1])); err == nil {
			return code
		}
	}
	return 0
}
