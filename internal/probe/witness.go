package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// Bounds of what is kept of one server's facts.
const (
	maxFacts  = 400
	maxIDs    = 200 // of its model list
	maxMoving = 100 // names of volatile facts
	maxFact   = 200 // bytes of a name or value; of longer values a hash stands there
)

// witnessLimit bounds one round of questions, so that a server that has died holds up
// the end of a run for no longer.
const witnessLimit = 5 * time.Second

// alsoAsked are endpoints that the preflight has no use for, by engine.
var alsoAsked = map[string][]string{"sglang": {"/get_model_info"}}

// Witness keeps what one server says about itself: once before a load and once after
// it, by the GETs of the preflight. It is not safe for concurrent use.
type Witness struct {
	base    spec.Base
	secrets *secret.Set

	first  map[string]string // facts of the preflight
	dead   map[string]bool   // endpoints that gave no answer: not asked again
	before *tape.ServerFacts
	moving map[string]bool
}

// NewWitness makes a Witness of the server at base.
func NewWitness(base spec.Base, secrets *secret.Set) *Witness {
	return &Witness{base: base, secrets: secrets, first: map[string]string{}, dead: map[string]bool{}, moving: map[string]bool{}}
}

// Watch is g, with a look at what it gets: give it to the preflight, whose answers are
// the first of two, so that what moves by itself shows.
func (w *Witness) Watch(g Getter) Getter {
	return &watched{w: w, g: g, seen: func(path string, got *client.Simple, err error) {
		if err != nil {
			w.dead[path] = true
		} else if got.Status == http.StatusOK {
			maps.Copy(w.first, facts(w.secrets, path, got.Body))
		}
	}}
}

// watched tells of each answer.
type watched struct {
	w    *Witness
	g    Getter
	seen func(path string, got *client.Simple, err error)
}

func (s *watched) Get(ctx context.Context, url string, header http.Header, limit int64) (*client.Simple, error) {
	got, err := s.g.Get(ctx, url, header, limit)
	s.seen(s.w.path(url), got, err)
	return got, err
}

// path is an endpoint's, without the server's own address.
func (w *Witness) path(url string) string {
	if rest, ok := strings.CutPrefix(url, w.base.Root); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return url
}

// round is one look at a server.
type round struct {
	facts  map[string]string
	failed map[string]string // by endpoint, why
	ok     bool
}

// ask looks at the server. look says how; what it settles on plays no part.
func (w *Witness) ask(ctx context.Context, look Look, when string) (*tape.ServerFacts, round) {
	ctx, cancel := context.WithTimeout(ctx, witnessLimit)
	defer cancel()
	r := round{facts: map[string]string{}, failed: map[string]string{}}
	g := look.Get
	look.Get = skipDead{w, &watched{w: w, g: g, seen: func(path string, got *client.Simple, err error) {
		switch {
		case err != nil:
			r.failed[path] = line(w.secrets, err.Error(), maxText)
		case got.Status != http.StatusOK:
			r.failed[path] = fmt.Sprintf("status %d", got.Status)
		default:
			r.ok = true
			maps.Copy(r.facts, facts(w.secrets, path, got.Body))
		}
	}}}
	look.Model, look.Own, look.Now, look.All = "", true, nil, false
	res, _ := look.Do(ctx)
	f := &tape.ServerFacts{When: when, URL: w.secrets.Mask(w.base.Root), OK: r.ok}
	if res != nil {
		f.Engine, f.Version = res.Server.Engine, res.Server.Version
		f.Models = slices.Clone(res.Server.Models[:min(len(res.Server.Models), maxIDs)])
		f.Left += int64(len(res.Server.Models) - len(f.Models))
	}
	for _, path := range alsoAsked[f.Engine] {
		if _, err := get(ctx, look, path); err != nil {
			break // the server is gone, or slow: what else it would say can wait no longer
		}
	}
	slices.Sort(f.Models)
	return f, r
}

// get asks one endpoint more.
func get(ctx context.Context, look Look, path string) (*client.Simple, error) {
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	return look.Get.Get(ctx, look.Base.Join(path), look.Header, maxBody)
}

// skipDead answers for endpoints that gave none before.
type skipDead struct {
	w *Witness
	g Getter
}

func (s skipDead) Get(ctx context.Context, url string, header http.Header, limit int64) (*client.Simple, error) {
	if s.w.dead[s.w.path(url)] {
		return &client.Simple{Status: http.StatusNotFound, Header: http.Header{}}, nil
	}
	return s.g.Get(ctx, url, header, limit)
}

// Before asks once more, and keeps what says the same as in the preflight and does not
// move by its name. It is never nil.
func (w *Witness) Before(ctx context.Context, look Look) *tape.ServerFacts {
	f, r := w.ask(ctx, look, tape.FactsBefore)
	for name, v := range r.facts {
		old, asked := w.first[name]
		if volatile(name) || asked && old != v {
			w.moving[name] = true
		}
	}
	for name := range w.first {
		if _, still := r.facts[name]; !still && r.failed[endpointOf(name)] == "" {
			w.moving[name] = true // it comes and goes
		}
	}
	f.Moving = slices.Sorted(maps.Keys(w.moving))
	f.Moving = f.Moving[:min(len(f.Moving), maxMoving)]
	f.Facts = map[string]string{}
	for _, name := range order(r.facts) {
		switch {
		case w.moving[name]:
		case len(f.Facts) == maxFacts:
			f.Left++
		default:
			f.Facts[name] = r.facts[name]
		}
	}
	w.before = f
	return f
}

// After asks again when the load is over: of the same facts, and of those that are new
// where all were kept before. It is never nil; Before comes first.
func (w *Witness) After(ctx context.Context, look Look) *tape.ServerFacts {
	f, r := w.ask(ctx, look, tape.FactsAfter)
	f.Facts, f.Left = map[string]string{}, 0
	answered := map[string]bool{}
	for name := range w.before.Facts {
		answered[endpointOf(name)] = true
	}
	for _, name := range order(r.facts) {
		_, known := w.before.Facts[name]
		switch {
		case known, w.before.Left == 0 && !w.moving[name] && !volatile(name) && answered[endpointOf(name)] && len(f.Facts) < maxFacts:
			f.Facts[name] = r.facts[name]
		case !w.moving[name]:
			f.Left++
		}
	}
	for path, why := range r.failed {
		if answered[path] {
			if f.Failed == nil {
				f.Failed = map[string]string{}
			}
			f.Failed[path] = why
		}
	}
	return f
}

// endpointOf is the part of a fact's name that says who told it.
func endpointOf(name string) string {
	path, _, _ := strings.Cut(name, " ")
	return path
}

// order is that in which facts are kept while there is room: those on top first.
func order(of map[string]string) []string {
	deep := func(name string) int { return strings.Count(name, ".") + strings.Count(name, "[") }
	names := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(names, func(a, b string) int { return deep(a) - deep(b) })
	return names
}

// short is a value that is fit to be kept: masked, on one line; of a long one its
// length and hash.
func short(secrets *secret.Set, text string) string {
	if len(text) > maxFact {
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("%d bytes, sha256 %s…", len(text), hex.EncodeToString(sum[:6]))
	}
	return secret.OneLine(secrets.Mask(text))
}
