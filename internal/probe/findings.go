package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tokentape/tape"
)

// findings are the replies of a probe by what they try, and what was never asked.
type findings struct {
	look *Result
	root string // of the server, which texts leave out

	whole, stream, other, eos, least, first, second *reply

	field, eosField, leastField string // names of the fields that they try
	grown                       [3]*reply
	content                     [3]tape.Opt[int64]

	why map[string]string // fields that nothing was asked about, and why

	c *tape.Capabilities
}

func newFindings(look *Result) *findings {
	if look == nil {
		look = &Result{}
	}
	return &findings{look: look, why: map[string]string{}}
}

func (f *findings) unasked(field, why string) { f.why[field] = why }

// all are the replies of requests that were sent, in order.
func (f *findings) all() []*reply {
	list := []*reply{f.whole, f.stream, f.other, f.eos, f.least, f.grown[0], f.grown[1], f.grown[2], f.first, f.second}
	return slices.DeleteFunc(list, func(r *reply) bool { return r == nil || r.req == nil })
}

// streams are the ok ones that came as streams.
func (f *findings) streams() []*reply {
	return slices.DeleteFunc(f.all(), func(r *reply) bool { return !r.ok() || !r.question.stream || !r.req.TFirstToken.OK })
}

// known notes from what a field is known.
func (f *findings) known(field, how string, by ...*reply) {
	f.c.How[field] = how
	for _, r := range by {
		if r != nil && r.name != "" && !slices.Contains(f.c.By, r.name) {
			f.c.By = append(f.c.By, r.name)
		}
		if r != nil && r.name != "" && field == "cached_tokens" && !slices.Contains(f.c.CachedBy, r.name) {
			f.c.CachedBy = append(f.c.CachedBy, r.name)
		}
	}
}

// inferred is known, for a field that was concluded.
func (f *findings) inferred(field, how string, by ...*reply) {
	f.known(field, how, by...)
	f.c.Inferred = append(f.c.Inferred, field)
}

// capabilities are what the replies prove.
func (f *findings) capabilities() *tape.Capabilities {
	f.c = &tape.Capabilities{Type: "capabilities", How: map[string]string{}, Honoured: map[string]bool{}}
	f.usage()
	f.cached()
	f.names()
	f.roles()
	f.events()
	f.lengths()
	f.ignoreEOS()
	f.minTokens()
	f.overhead()
	f.served()
	for field, why := range f.why {
		if field != "" && f.c.How[field] == "" {
			f.c.How[field] = why
		}
	}
	slices.Sort(f.c.Inferred)
	if len(f.c.Honoured) == 0 {
		f.c.Honoured = nil
	}
	return f.c
}

// ownCount reports whether the server itself gave the output count of an answer.
func ownCount(r *reply) bool {
	s := r.req.Tokens.OutputSource
	return r.req.Tokens.Output.OK && (s == tape.SourceUsage || s == tape.SourceEngine)
}

func (f *findings) usage() {
	if r := f.whole; r.ok() && contradictory("output", r) != "" {
		f.c.How["usage_whole"] = contradictory("output", r)
	} else if r.ok() {
		f.c.UsageWhole = tape.Some(ownCount(r))
		f.known("usage_whole", "the answer in one piece", r)
	} else {
		f.c.How["usage_whole"] = "no answer in one piece ended well"
	}
	r := f.stream
	if !r.ok() || !r.req.TFirstToken.OK {
		f.c.How["usage"] = "no stream ended well"
		return
	}
	if how := contradictory("output", r); how != "" {
		f.c.How["usage"] = how
		return
	}
	tokens, with := 0, 0
	for i, kind := range r.req.Events.Kinds() {
		if tape.IsToken(kind) {
			if tokens++; i < len(r.req.Events.Tok) && r.req.Events.Tok[i] >= 0 {
				with++
			}
		}
	}
	switch {
	case tokens > 1 && with*10 >= tokens*9:
		f.c.Usage = tape.UsageEvery
		f.known("usage", fmt.Sprintf("%d of %d token events of a stream carried a count", with, tokens), r)
	case ownCount(r):
		f.c.Usage = tape.UsageEnd
		f.known("usage", "one stream, asked for its counts as the load asks", r)
	default:
		f.c.Usage = tape.UsageNever
		f.known("usage", "one stream, asked for its counts as the load asks, had none", r)
	}
}

func (f *findings) cached() {
	var zero, above, missing *reply
	with, without := 0, 0 // answers with counts that could be true
	for _, r := range f.all() {
		switch {
		case r.ok() && r.req.Tokens.Cached.OK:
			with++
		case r.ok() && ownCount(r):
			without++
		}
		if !r.req.Tokens.Cached.OK && r.ok() && r.question.stream && ownCount(r) && missing == nil {
			missing = r
		}
		if n := r.req.Tokens.Cached; r.ok() && n.OK {
			if n.V == 0 && zero == nil {
				zero = r
			}
			if n.V > 0 && above == nil {
				above = r
			}
			for _, p := range r.seen.cached() {
				if !slices.Contains(f.c.CachedFields, p) {
					f.c.CachedFields = append(f.c.CachedFields, p)
				}
			}
		}
	}
	slices.Sort(f.c.CachedFields)
	first, second := f.first, f.second
	asked := first.ok() && second.ok()
	switch how := contradictory("cached", f.all()...); {
	case how != "":
		f.c.How["cached_tokens"] = how
	case zero != nil && without > 0:
		f.c.How["cached_tokens"] = fmt.Sprintf("a count of 0 was reported, and %s of %d came without one: a count that is missing says nothing", count(int64(without), "answer"), with+without)
	case zero != nil:
		f.c.CachedTokens = tape.CachedAlways
		f.known("cached_tokens", "a count of 0 was reported", zero, above)
		if asked && above == nil {
			f.c.How["cached_tokens"] += "; the same long prompt sent again was served 0 from the cache: it is off, or another worker got it"
		}
	case above != nil && asked && !first.req.Tokens.Cached.OK:
		f.c.CachedTokens = tape.CachedAbove
		f.known("cached_tokens", fmt.Sprintf("a new prompt came without the count, the same again with %d", above.req.Tokens.Cached.V), first, above)
	case above != nil && above.question.stream && missing != nil:
		f.c.CachedTokens = tape.CachedAbove
		f.known("cached_tokens", fmt.Sprintf("one stream came without the count, another with %d", above.req.Tokens.Cached.V), missing, above)
	case above != nil:
		f.c.CachedTokens = tape.CachedSome
		f.known("cached_tokens", fmt.Sprintf("a count of %d came", above.req.Tokens.Cached.V), above)
	case asked && served(first, second):
		f.c.CachedTokens = tape.CachedNever
		f.inferred("cached_tokens", "the same long prompt twice, and no count, although the cache served it the second time"+waits(first, second), first, second)
	case asked:
		f.c.CachedTokens = tape.CachedUnknown
		f.known("cached_tokens", "the same long prompt twice, and no count: the server does not report it, or its cache served none and it leaves out 0"+waits(first, second), first, second)
	case first != nil:
		f.c.How["cached_tokens"] = "the two requests with the same prompt did not both end well"
	}
}

// A prompt that comes again is taken for served from the cache where its first token
// comes in less than half of the time, and sooner by this much.
const servedSooner = int64(10 * time.Millisecond)

func served(first, second *reply) bool {
	if !first.req.TFirstToken.OK || !second.req.TFirstToken.OK {
		return false
	}
	a, b := first.req.TFirstToken.V-first.req.TReleased.V, second.req.TFirstToken.V-second.req.TReleased.V
	return b*2 < a && a-b >= servedSooner
}

// waits are how long two streams took to their first tokens, a hint and no count.
func waits(a, b *reply) string {
	if !a.req.TFirstToken.OK || !b.req.TFirstToken.OK {
		return ""
	}
	ms := func(r *reply) float64 { return float64(r.req.TFirstToken.V-r.req.TReleased.V) / 1e6 }
	return fmt.Sprintf("; the first tokens came after %.1f and %.1f ms", ms(a), ms(b))
}

// names are what the answers' own fields say.
func (f *findings) names() {
	var empty string
	var emptyBy *reply
	for _, r := range f.all() {
		if !r.ended() {
			continue
		}
		if r.req.Finish != "" && !slices.Contains(f.c.Finish, r.req.Finish) {
			f.c.Finish = append(f.c.Finish, r.req.Finish)
			f.known("finish", "the answers that ended", r)
		}
		for _, p := range r.seen.speculation() {
			if !slices.Contains(f.c.Speculation, p) {
				f.c.Speculation = append(f.c.Speculation, p)
				f.known("speculation", "fields of the answers", r)
			}
		}
		switch name, filled := r.seen.reasoning(); {
		case name != "" && filled && f.c.ReasoningField == "":
			f.c.ReasoningField = name
			f.known("reasoning_field", "reasoning came in it", r)
		case name != "" && !filled && empty == "":
			empty, emptyBy = name, r
		}
		if m := r.seen.model(); m != "" && f.c.Model == "" {
			f.c.Model = m
			how := "model of the answers"
			if ids := f.look.Server.Models; len(ids) > 0 && !slices.Contains(ids, m) {
				how += ", which is none that the server lists: " + strings.Join(ids[:min(len(ids), 3)], ", ") + "; it may take any name"
			}
			f.known("model", how, r)
		}
	}
	if f.c.ReasoningField == "" && empty != "" {
		f.c.ReasoningField = empty
		f.inferred("reasoning_field", "the field is there, and empty: no reasoning came", emptyBy)
	}
	slices.Sort(f.c.Finish)
	slices.Sort(f.c.Speculation)
	for field, why := range map[string]string{
		"reasoning_field": "no reasoning came, and no field for it",
		"speculation":     "no answer has a counter of drafts or verify steps",
		"model":           "no answer names its model",
		"finish":          "no finish reason came",
		"cached_fields":   cmp.Or(contradictory("cached", f.all()...), "no answer carried the count"),
	} {
		if f.c.How[field] == "" && !(field == "cached_fields" && len(f.c.CachedFields) > 0) {
			f.c.How[field] = why
		}
	}
}

// Times against the first token that tell when a role-only chunk came.
const (
	tellingTTFT = int64(2 * time.Millisecond) // below, nothing is told
)

func (f *findings) roles() {
	list := f.streams()
	if len(list) == 0 {
		f.c.How["role_first"], f.c.How["role_chunk"] = "no stream ended well", "no stream ended well"
		return
	}
	// The longest wait for a first token tells most.
	slowest := list[0]
	first := func(r *reply) bool {
		for _, kind := range r.req.Events.Kinds() {
			return kind == tape.KindRole
		}
		return false
	}
	ttft := func(r *reply) int64 { return r.req.TFirstToken.V - r.req.TWroteFirst.V }
	for _, r := range list {
		if ttft(r) > ttft(slowest) {
			slowest = r
		}
	}
	f.c.RoleFirst = tape.Some(first(slowest))
	f.known("role_first", "the first event of a stream", slowest)
	if !first(slowest) {
		f.c.How["role_chunk"] = "streams do not begin with one"
		return
	}
	all, lead := ttft(slowest), slowest.req.TFirstToken.V-slowest.req.TFirstEvent.V
	what := fmt.Sprintf("%.1f ms before the first token, which came after %.1f ms", float64(lead)/1e6, float64(all)/1e6)
	switch {
	case all < tellingTTFT:
		f.c.How["role_chunk"] = what + ": too little to tell"
	case lead*2 >= all:
		f.c.RoleChunk = tape.RoleBefore
		f.inferred("role_chunk", what, slowest)
	case lead*10 <= all:
		f.c.RoleChunk = tape.RoleWith
		f.inferred("role_chunk", what, slowest)
	default:
		f.c.How["role_chunk"] = what + ": neither at the start nor with the token"
	}
}

func (f *findings) events() {
	for _, r := range []*reply{f.stream, f.eos, f.least} {
		if !r.ok() || !ownCount(r) {
			continue
		}
		events := int64(0)
		for _, kind := range r.req.Events.Kinds() {
			if tape.IsToken(kind) {
				events++
			}
		}
		if events < 4 {
			continue
		}
		n := r.req.Tokens.Output.V
		f.c.TokensPerEvent = tape.Some(float64(n) / float64(events))
		f.known("tokens_per_event", fmt.Sprintf("%d tokens in %d token events", n, events), r)
		return
	}
	f.c.How["tokens_per_event"] = cmp.Or(contradictory("output", f.stream, f.eos, f.least), "no stream of 4 token events or more with the server's count")
}

// accepted reports that the server takes requests at all: one with the field beside
// the field of a length that is tried, so that a refusal is one of that field.
func (f *findings) accepted(but *reply) bool {
	for _, r := range []*reply{f.stream, f.other} {
		if r != but && r.ended() {
			return true
		}
	}
	return false
}

// notTold settles a field of which a request proves nothing, whatever it tried, and one
// that the server refuses; it reports whether it did.
func (f *findings) notTold(field string, r *reply) bool {
	switch {
	case r == nil || r.req == nil:
		f.c.How[field] = "not asked"
		if r != nil && r.note != "" {
			f.c.How[field] = "it could not be asked: " + r.note
		}
	case r.refused() && f.accepted(r):
		f.c.Honoured[field] = false
		f.known(field, "the server refuses it, and takes a request without it: "+r.req.Message, r)
	case r.refused():
		f.c.How[field] = "the server refuses every request, with the field and without"
	case !r.ended():
		f.c.How[field] = "the request did not end well: " + ended(r.req)
	default:
		return false
	}
	return true
}

// ended is how a request ended, in two words or three.
func ended(q *tape.Request) string {
	if q.HTTP.Status != 0 && q.Outcome == tape.OutcomeStatus {
		return fmt.Sprintf("%s %d", q.Outcome, q.HTTP.Status)
	}
	return string(q.Outcome)
}

// bounds judges a request that asked for at most n tokens and wanted more. Exactly as
// many prove it only where another number gives another length: a server that always
// ends there would look alike.
func (f *findings) bounds(field string, r *reply) {
	if r == nil || field == "" || f.notTold(field, r) {
		return
	}
	n := r.question.output
	got, ok := r.output()
	switch {
	case r.req.Outcome == tape.OutcomeAbandoned, ok && got > n && ownCount(r):
		f.c.Honoured[field] = false
		f.known(field, fmt.Sprintf("%d asked for, and at least %d came", n, got), r)
	case !ok:
		f.c.How[field] = cmp.Or(contradictory("output", r), "no count of the tokens that came")
	case got < n && r.req.Finish == "length":
		f.c.How[field] = fmt.Sprintf("%d asked for, and %d came, with finish length: something else cut the answer", n, got)
	case got < n:
		f.c.How[field] = fmt.Sprintf("the answer ended by itself (%s) before the %d tokens that were asked for", finish(r), n)
	default:
		longer, m := f.longer(r, n)
		if longer == nil {
			f.c.How[field] = fmt.Sprintf("%d asked for and %d came, and no other answer was longer: it may have ended there by itself", n, got)
			return
		}
		f.c.Honoured[field] = true
		f.known(field, fmt.Sprintf("%d asked for, %d came (%s); %d of another request that asked for %d", n, got, finish(r), m, longer.question.output), r, longer)
	}
}

// finish is why an answer ended.
func finish(r *reply) string {
	if r.req.Finish == "" {
		return "no finish reason"
	}
	return "finish " + r.req.Finish
}

// longer is an answer to another request that went beyond n tokens, or stopped short of
// them where fewer were asked for, and how long it was; nil for none.
func (f *findings) longer(but *reply, n int64) (*reply, int64) {
	for _, r := range f.all() {
		got, ok := r.output()
		if r != but && ok && (got > n || got < n && got == r.question.output && r.question.field == but.question.field) {
			return r, got
		}
	}
	return nil, 0
}

func (f *findings) lengths() {
	own := f.field
	if own == "" && f.stream != nil {
		own = f.stream.question.field
	}
	f.bounds(own, f.stream)
	if _, told := f.c.Honoured[own]; !told { // a short answer that was cut short
		if r := f.grown[0]; r.ok() && r.question.field == f.stream.question.field && r.req.Finish == "length" {
			f.bounds(own, r)
		}
	}
	if f.other != nil {
		f.bounds(f.other.question.field, f.other)
	}
	for _, name := range []string{own, otherField(f.other)} {
		if f.c.MaxTokensField != "" || name == "" || !f.c.Honoured[name] {
			continue
		}
		if _, told := f.c.Honoured[own]; name != own && own != "" && !told {
			f.c.How["max_tokens_field"] = fmt.Sprintf("%s bounds answers; of %s, which requests carry, it was not seen: %s", name, own, f.c.How[own])
			return
		}
		f.c.MaxTokensField = name
		f.known("max_tokens_field", f.c.How[name], f.stream)
	}
	if f.c.MaxTokensField == "" {
		f.c.How["max_tokens_field"] = "none was seen to bound an answer"
	}
}

func otherField(r *reply) string {
	if r == nil {
		return ""
	}
	return r.question.field
}

// alone is how long the answer to the short prompt is by itself, in tokens; not ok
// where it reached the bound, which hides that.
func (f *findings) alone() (n int64, ok bool) {
	n, ok = f.whole.output()
	return n, ok && f.whole.ok() && ownCount(f.whole) && n < f.whole.question.output && f.whole.req.Finish != "length"
}

// length is the output of an answer from which something can be told of a field that
// is to make it at least want tokens long; else the field says why nothing can.
func (f *findings) length(field string, r *reply, want int64) (got int64, ok bool) {
	got, ok = r.output()
	switch {
	case !r.ok():
		f.c.How[field] = "the stream was closed, since it went on beyond what was asked for"
	case !ok || !ownCount(r):
		f.c.How[field] = cmp.Or(contradictory("output", r), "no answer with the server's count")
	case got < want && r.req.Finish == "length":
		f.c.How[field] = fmt.Sprintf("%d tokens came, with finish length: something else cut the answer", got)
	default:
		return got, true
	}
	return 0, false
}

func (f *findings) ignoreEOS() {
	r, field := f.eos, f.eosField
	if field == "" {
		f.c.How["ignore_eos"] = "this API has no such field"
		return
	}
	base, short := f.alone()
	if r == nil || f.notTold(field, r) {
		return
	}
	got, ok := f.length(field, r, r.question.output)
	switch {
	case !ok:
	case got < r.question.output:
		f.c.Honoured[field] = false
		f.known(field, fmt.Sprintf("%d tokens of %d came (%s)", got, r.question.output, finish(r)), r)
	case !short:
		f.c.How[field] = fmt.Sprintf("answers are %d tokens long without it too, so that it makes no difference", r.question.output)
	default:
		f.c.Honoured[field] = true
		f.known(field, fmt.Sprintf("%d tokens with it, %d without", got, base), f.whole, r)
	}
}

func (f *findings) minTokens() {
	r, field := f.least, f.leastField
	if field == "" {
		f.c.How["min_tokens"] = "this API has no such field"
		return
	}
	if field != "min_tokens" {
		f.c.How["min_tokens"] = "this API calls it " + field
	}
	base, short := f.alone()
	if r == nil || f.notTold(field, r) {
		return
	}
	got, ok := f.length(field, r, leastOutput)
	switch {
	case !ok:
	case got < leastOutput:
		f.c.Honoured[field] = false
		f.known(field, fmt.Sprintf("%d tokens came where %d are the least", got, leastOutput), r)
	case !short || base >= leastOutput:
		f.c.How[field] = "answers are as long without it, so that it makes no difference"
	default:
		f.c.Honoured[field] = true
		f.known(field, fmt.Sprintf("%d tokens with %s %d, %d without", got, field, leastOutput, base), f.whole, r)
	}
}

// overhead is what the template adds: by the tokenizer, or from the growth of three
// prompts.
func (f *findings) overhead() {
	if f.grown[0] == nil {
		return
	}
	var in [3]int64
	for i, r := range f.grown {
		if !r.ok() || !r.req.Tokens.Input.OK {
			f.c.How["chat_overhead"] = cmp.Or(contradictory("input", r), "no server's count of the prompts")
			return
		}
		in[i] = r.req.Tokens.Input.V
	}
	by := f.grown[:]
	if a, b := f.content[0], f.content[2]; a.OK && b.OK && in[0]-a.V == in[2]-b.V && in[0] >= a.V {
		f.c.ChatOverhead = tape.Some(in[0] - a.V)
		f.known("chat_overhead", "the server's counts of prompts less the tokenizer's of their texts", by...)
		return
	}
	words0 := int64(words(0))
	slope, rest := (in[1]-in[0])/words0, (in[1]-in[0])%words0
	if n := in[0] - slope*words0; rest == 0 && in[2]-in[1] == slope*int64(words(1)) && slope > 0 && n >= 0 {
		f.c.ChatOverhead = tape.Some(n)
		f.inferred("chat_overhead", fmt.Sprintf("prompts of %d, %d and %d equal words are %d, %d and %d tokens", words(0), words(1), words(2), in[0], in[1], in[2]), by...)
		return
	}
	f.c.How["chat_overhead"] = fmt.Sprintf("prompts of %d, %d and %d equal words are %d, %d and %d tokens: they do not grow evenly", words(0), words(1), words(2), in[0], in[1], in[2])
}

// served is what GETs said, and whether a worker of a disaggregated service spoke.
func (f *findings) served() {
	short := func(from string) string { return strings.ReplaceAll(from, "GET "+f.root, "GET ") }
	if c := f.look.Context; c.Tokens > 0 {
		f.c.Context = tape.Some(c.Tokens)
		f.c.How["context"] = short(c.From)
	} else {
		f.c.How["context"] = "the server does not say; it is never tried by overfilling"
	}
	if e := f.look.Entry; e.Kind != "" {
		f.c.Entry, f.c.How["entry"] = e.Kind, short(e.From)
		return
	}
	for _, r := range f.all() {
		if noRoom(r.req) {
			f.c.Entry = tape.EntryWorker
			f.inferred("entry", "a request without bootstrap fields was refused: "+r.req.Message, r)
			return
		}
	}
	f.c.How["entry"] = "the server does not say"
}
