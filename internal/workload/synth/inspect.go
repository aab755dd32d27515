package synth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"unicode/utf8"

	"tokentape/internal/workload"
)

// InspectionSchema is the version of an Inspection's form.
const InspectionSchema = "tokentape.inspection/1"

// Inspection says what a set asks of a server and of its prefix cache.
type Inspection struct {
	Schema     string        `json:"schema"`
	Data       Data          `json:"data"`
	Tokenizer  *TokenizerRef `json:"tokenizer"` // null: nothing was counted in tokens
	Bytes      Dist          `json:"text_bytes"`
	Characters Dist          `json:"text_characters"`
	Content    *Dist         `json:"content_tokens"`   // of the messages' texts
	Templated  *Dist         `json:"templated_tokens"` // of the prompt that the server makes of them
	Output     *Dist         `json:"output_tokens"`    // of the rows that set their own
	Duplicates Duplicates    `json:"duplicates"`
	Prefix     Prefix        `json:"prefix"`
}

// Dist describes lengths. Quantiles are the smallest length that so many rows do
// not exceed.
type Dist struct {
	N    int     `json:"n"`
	Sum  int64   `json:"sum"`
	Mean float64 `json:"mean"`
	Min  int     `json:"min"`
	P50  int     `json:"p50"`
	P90  int     `json:"p90"`
	P99  int     `json:"p99"`
	Max  int     `json:"max"`
}

func dist(list []int32) *Dist {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	d := &Dist{N: len(list), Min: int(list[0]), Max: int(list[len(list)-1])}
	for _, x := range list {
		d.Sum += int64(x)
	}
	d.Mean = float64(d.Sum) / float64(d.N)
	at := func(percent int) int { return int(list[(len(list)*percent+99)/100-1]) }
	d.P50, d.P90, d.P99 = at(50), at(90), at(99)
	return d
}

// Duplicates are rows whose messages were there before.
type Duplicates struct {
	Rows  int     `json:"rows"`  // that repeat an earlier one
	Share float64 `json:"share"` // of all rows
	Row   int     `json:"row"`   // the first of them, -1: none
	Of    int     `json:"of"`    // and the row that it repeats
}

// Prefix is what a prefix cache can do for a set whose rows go out one after
// another into an empty cache. Unit names what is counted.
type Prefix struct {
	Unit      string  `json:"unit"` // "tokens" of the templated prompt, or "bytes" without a tokenizer
	PageSize  int     `json:"page_size"`
	Total     int64   `json:"total"`
	Cached    int64   `json:"cached"`   // by a cache without limits; the same in every order
	Share     float64 `json:"share"`    // of Total: the best possible
	Common    int     `json:"common"`   // that all rows begin with, whole pages
	Capacity  int64   `json:"capacity"` // 0: no limit was given, and the two orders are not told apart
	FileOrder int64   `json:"cached_in_file_order"`
	BestOrder int64   `json:"cached_in_best_order"` // rows with long common beginnings one after another
	Groups    []Group `json:"groups"`               // of two rows or more that share more than Common, the largest first
	More      int     `json:"more_groups"`          // left out of Groups
}

// Group are rows that begin alike.
type Group struct {
	Rows   int   `json:"rows"`
	Shared int   `json:"shared"`    // by all of them, whole pages
	First  int   `json:"first_row"` // 0-based
	Total  int64 `json:"total"`
	Cached int64 `json:"cached"` // by a cache without limits, also by what only some of them share
}

// InspectOptions say how a prefix cache is to be thought of.
type InspectOptions struct {
	PageSize int   // tokens, ≥ 1
	Capacity int64 // tokens that the cache holds; 0: no limit
}

// bytePage is the page without a tokenizer, in bytes.
const bytePage = 64

// mostGroups bounds the groups that are listed.
const mostGroups = 1000

type inspected struct {
	hash                                  uint64
	bytes, chars, content, templated, out int32
	pages                                 []uint32
	err                                   error
}

func (i inspected) fault() error { return i.err }

// Inspect reads every row once. tok nil: nothing is counted in tokens. It keeps a
// few numbers a row and four bytes a page, never the rows.
func Inspect(ctx context.Context, src workload.Source, tok Tokenizer, o InspectOptions, progress func(done, total int)) (*Inspection, error) {
	x := &Inspection{Schema: InspectionSchema, Duplicates: Duplicates{Row: -1, Of: -1}}
	x.Prefix.Unit, x.Prefix.PageSize = "tokens", o.PageSize
	if tok == nil {
		x.Prefix.Unit, x.Prefix.PageSize = "bytes", bytePage
	} else {
		x.Tokenizer = &TokenizerRef{Name: tok.Name(), SHA256: tok.SHA256(), Template: tok.Template()}
	}
	seed := maphash.MakeSeed()
	seen := map[uint64]int32{}
	tree := newTree(x.Prefix.PageSize)
	var bytes, chars, content, templated, output []int32
	n := int(src.Len())
	if n == 0 {
		return nil, errors.New("the set has no rows")
	}
	err := ordered(ctx, n, func(i int) inspected { return inspectRow(src, tok, int64(i), x.Prefix.PageSize, seed) },
		func(i int, r inspected) error {
			bytes, chars = append(bytes, r.bytes), append(chars, r.chars)
			if r.out > 0 {
				output = append(output, r.out)
			}
			if first, ok := seen[r.hash]; !ok {
				seen[r.hash] = int32(i)
			} else if x.Duplicates.Rows++; x.Duplicates.Row < 0 {
				x.Duplicates.Row, x.Duplicates.Of = i, int(first)
			}
			total := r.bytes
			if tok != nil {
				content, templated = append(content, r.content), append(templated, r.templated)
				total = r.templated
			}
			x.Prefix.Total += int64(total)
			x.Prefix.Cached += int64(tree.add(r.pages, int(total)))
			if progress != nil {
				progress(i+1, n)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	x.Bytes, x.Characters, x.Content, x.Templated, x.Output = *dist(bytes), *dist(chars), dist(content), dist(templated), dist(output)
	x.Duplicates.Share = float64(x.Duplicates.Rows) / float64(n)
	x.Prefix.describe(tree, o.Capacity)
	return x, nil
}

func inspectRow(src workload.Source, tok Tokenizer, i int64, size int, seed maphash.Seed) (r inspected) {
	item, err := src.Item(i)
	if err != nil {
		r.err = err
		return r
	}
	messages, err := asked(item)
	if err != nil {
		r.err = err
		return r
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, m := range messages {
		for _, s := range []string{m.Role, m.Content, string(m.Raw)} {
			h.WriteString(s)
			h.WriteByte(0xff) // in no UTF-8 text
		}
	}
	for _, id := range item.TokenIDs {
		maphash.WriteComparable(&h, id)
	}
	text := joined(messages)
	r.hash, r.bytes, r.chars, r.out = h.Sum64(), int32(len(text)), int32(utf8.RuneCountInString(text)), int32(item.OutputLen)
	if tok == nil {
		r.pages = pages([]byte(text), size)
		return r
	}
	content, ids, err := countItem(tok, item)
	if err != nil {
		r.err = err
		return r
	}
	r.content, r.templated, r.pages = int32(content), int32(len(ids)), pages(ids, size)
	return r
}

// countItem is the number of tokens of an item's messages, and its prompt.
func countItem(tok Tokenizer, item workload.Item) (content int, prompt []uint64, err error) {
	if item.TokenIDs != nil {
		return len(item.TokenIDs), widen(nil, item.TokenIDs), nil // sent as they are
	}
	messages, err := asked(item)
	if err != nil {
		return 0, nil, err
	}
	var ids []uint64
	for _, m := range messages {
		ids = tok.Content(ids[:0], m.Content)
		content += len(ids)
	}
	prompt, err = tok.Prompt(ids[:0], messages)
	return content, prompt, err
}

// asked are the messages of an item, also of one that is a whole request body.
func asked(item workload.Item) ([]workload.Message, error) {
	if item.Body == nil {
		return item.Messages, nil
	}
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Prompt json.RawMessage
	}
	var prompt string
	if err := json.Unmarshal(item.Body, &body); err != nil {
		return nil, fmt.Errorf("row %d: %w", item.Ref.Row, err)
	}
	var out []workload.Message
	for _, m := range body.Messages {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			break // in parts: not counted
		}
		out = append(out, workload.Message{Role: m.Role, Content: text})
	}
	switch {
	case len(out) > 0 && len(out) == len(body.Messages):
		return out, nil
	case len(body.Messages) == 0 && json.Unmarshal(body.Prompt, &prompt) == nil:
		return user(prompt), nil
	}
	return nil, fmt.Errorf("row %d is a request body without messages of text or a prompt; such rows cannot be counted", item.Ref.Row)
}

// describe fills in what the whole tree tells.
func (p *Prefix) describe(t *tree, capacity int64) {
	if p.Total > 0 {
		p.Share = float64(p.Cached) / float64(p.Total)
	}
	rows := t.nodes[0].rows
	var group, until = -1, -1 // the one that walk is in, and where it began
	walkGroups(t, func(i int32, depth int, top int32) {
		switch n := &t.nodes[i]; {
		case top < 0 && n.rows == rows && rows > 1:
			p.Common = depth * t.size
			return
		case top < 0:
			return
		case int(top) != until:
			until, group = int(top), -1
			if n.rows > 1 {
				p.Groups = append(p.Groups, Group{Rows: int(n.rows), Shared: depth * t.size, First: int(n.first)})
				group = len(p.Groups) - 1
			}
		}
		if group >= 0 {
			for _, r := range t.nodes[i].ended {
				p.Groups[group].Total += int64(t.ends[r].tokens)
				p.Groups[group].Cached += int64(t.ends[r].cached)
			}
		}
	})
	slices.SortStableFunc(p.Groups, func(a, b Group) int { return int(min(max(b.Cached-a.Cached, -1), 1)) })
	if len(p.Groups) > mostGroups {
		p.More = len(p.Groups) - mostGroups
		p.Groups = p.Groups[:mostGroups]
	}
	if p.Groups == nil {
		p.Groups = []Group{}
	}
	if p.Capacity = capacity; capacity > 0 && p.Unit == "tokens" {
		order := make([]int32, len(t.ends))
		for i := range order {
			order[i] = int32(i)
		}
		room := max(int(capacity)/t.size, 1)
		p.FileOrder, p.BestOrder = t.lru(order, room), t.lru(t.grouped(), room)
		p.BestOrder = max(p.BestOrder, p.FileOrder)
	} else {
		p.Capacity, p.FileOrder, p.BestOrder = 0, p.Cached, p.Cached
	}
}

// walkGroups visits the nodes; top is the first node above or at a node that not
// all rows pass, -1 for those that all pass.
func walkGroups(t *tree, visit func(i int32, depth int, top int32)) {
	tops := map[int32]int32{0: -1}
	t.walk(func(i int32, depth int) {
		top := int32(-1)
		if i != 0 {
			if top = tops[t.nodes[i].parent]; top < 0 && (t.nodes[i].rows < t.nodes[0].rows || len(t.ends) == 1) {
				top = i
			}
		}
		if len(t.nodes[i].children) > 0 {
			tops[i] = top
		}
		visit(i, depth, top)
	})
}
