package cli

import (
	"bytes"
	"encoding/json"
	"slices"

	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// mostHidden bounds how many different secrets of rows are kept.
const mostHidden = 1000

// secrets are the texts that rows send under a credential's name. A server may repeat
// them, so they are masked as those of the spec are. Its methods are for one goroutine.
type secrets struct {
	list []string
	seen map[string]bool
}

// of adds those of an item: of its own body fields, or of the body that it is.
func (s *secrets) of(item workload.Item) {
	if len(s.list) >= mostHidden {
		return
	}
	for name, raw := range item.Extra {
		s.in(name, raw)
	}
	if len(item.Body) > 0 {
		s.in("", item.Body)
	}
}

func (s *secrets) in(name string, raw []byte) {
	if !secret.Name(name) && bytes.IndexByte(raw, '{') < 0 {
		return
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return // said elsewhere
	}
	secret.Fields(map[string]any{name: v}, func(text string) {
		if !s.seen[text] && len(s.list) < mostHidden {
			if s.seen == nil {
				s.seen = map[string]bool{}
			}
			s.seen[text] = true
			s.list = append(s.list, text)
		}
	})
}

// secrets are those of the spec and of the rows.
func (j *job) secrets() []string { return append(j.spec.Secrets(), j.hidden.list...) }

// veil takes them out of the header's names and paths: what the user typed there may
// repeat the key. What is sent keeps them.
func (j *job) veil(h *tape.Header) {
	set := spec.Own(j.secrets())
	for _, text := range []*string{&h.Name, &h.Data.Path, &h.Server.URL, &h.Server.Model, &h.Server.Proxy} {
		*text = set.Mask(*text)
	}
	h.Server.URLs, h.Server.Models = slices.Clone(h.Server.URLs), slices.Clone(h.Server.Models)
	for _, list := range [][]string{h.Server.URLs, h.Server.Models} {
		for i := range list {
			list[i] = set.Mask(list[i])
		}
	}
	for i := range h.Parts {
		h.Parts[i].Path = set.Mask(h.Parts[i].Path)
	}
	if h.Tok != nil {
		h.Tok.Path = set.Mask(h.Tok.Path)
	}
	if h.Cache != nil && h.Cache.From != nil {
		from, cache := *h.Cache.From, *h.Cache
		from.Path, cache.From = set.Mask(from.Path), &from
		h.Cache = &cache
	}
}

// shownName is the run's name, of its folder too.
func (j *job) shownName() string { return spec.Own(j.secrets()).Mask(j.spec.Name) }
