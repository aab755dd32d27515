package rows

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/object"
)

// notes counts what rows decide for themselves, while they are checked.
type notes struct {
	said []string

	output, least, most     int64
	input                   int64 // the longest InputLen
	messages, ownSystem     int64
	ids, whole, still, mute int64 // prompts of ids; bodies, of these not streamed, streamed without usage
	made                    int64 // prompts that are made up
	extra                   map[string]int64
	left                    map[string]int64 // rows left out, by reason
	badRows                 int64
	first                   error // bad row

	columns map[string]bool // fields that the spec names, and whether a row has it
	seed    maphash.Seed
	hashes  []uint64 // of the prompts
	key     []byte
	prefix  []byte // what all prompts begin with
	short   int    // the shortest prompt, bytes
	bytes   int64  // of all prompts
}

func (n *notes) begin(rows int64) {
	n.left, n.extra, n.columns, n.seed = map[string]int64{}, map[string]int64{}, map[string]bool{}, maphash.MakeSeed()
	n.hashes = make([]uint64, 0, rows)
}

func (n *notes) say(format string, args ...any) {
	n.said = append(n.said, fmt.Sprintf(format, args...))
}

// fields looks which of the fields that the spec names a row has.
func (n *notes) fields(row dataset.Row, d spec.Dataset) {
	if len(d.Columns)+len(d.Extra)+len(d.Filter) == 0 {
		return
	}
	for setting, names := range named(d) {
		for _, name := range names {
			if !n.columns[setting+name] {
				_, n.columns[setting+name] = find(row.Fields, name)
			}
		}
	}
}

// named are the fields of rows that the spec names, by setting.
func named(d spec.Dataset) map[string][]string {
	return map[string][]string{
		"workload.dataset.columns": slices.Sorted(maps.Values(d.Columns)),
		"workload.dataset.extra":   d.Extra,
		"workload.dataset.filter":  slices.Sorted(maps.Keys(d.Filter)),
	}
}

// unknown refuses a field that the spec names and no row has.
func (n *notes) unknown(s *Source, passed int64) error {
	for setting, names := range named(s.w.Dataset) {
		for _, name := range names {
			if n.columns[setting+name] {
				continue
			}
			hint := "name a field of the rows"
			if row, err := s.file.Row(0); err == nil {
				have := row.Fields.Names()
				if hint = "its fields are: " + strings.Join(have[:min(len(have), 12)], ", "); spec.Nearest(have, name) != "" {
					hint = fmt.Sprintf("did you mean %s? %s", spec.Nearest(have, name), hint)
				}
			}
			return spec.Issue{File: s.w.Dataset.Path, Field: setting, Message: fmt.Sprintf("no row has a field %q", name), Hint: hint}
		}
	}
	return nil
}

// none is the error of a dataset of which no row is left.
func (n *notes) none(s *Source, passed int64) error {
	all, d := s.file.Len(), s.w.Dataset
	at := spec.Issue{File: d.Path}
	switch {
	case passed == 0:
		at.Field, at.Message, at.Hint = "workload.dataset.filter", fmt.Sprintf("leaves none of the %d rows", all), "values are compared as texts, letter by letter"
	case passed <= d.Skip:
		at.Field, at.Message, at.Hint = "workload.dataset.skip", fmt.Sprintf("%d leaves none of the %d rows", d.Skip, passed), "skip fewer"
	case n.badRows > 0:
		at.Message, at.Hint = fmt.Sprintf("none of its %d rows can be asked (%s); the first: %v", all, n.reasons(n.badRows), n.first), "see what is wrong with workload.dataset.on_bad_row: fail"
	default:
		at.Message, at.Hint = fmt.Sprintf("none of its %d rows asks anything: %s", all, n.reasons(0)), "docs/datasets.md says what each means"
	}
	return at
}

func (n *notes) reasons(bad int64) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(n.left)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, n.left[reason]))
	}
	if bad > 0 {
		parts = append(parts, fmt.Sprintf("bad %d", bad))
	}
	return strings.Join(parts, ", ")
}

func count(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (n *notes) bad(err error) {
	if n.badRows++; n.first == nil {
		n.first = err
	}
}

func (n *notes) add(item workload.Item, system string) {
	if system != "" && len(item.Messages) > 0 && item.Messages[0].Content != system {
		n.ownSystem++
	}
	n.input = max(n.input, item.InputLen)
	if l := item.OutputLen; l > 0 {
		if n.output == 0 || l < n.least {
			n.least = l
		}
		n.most = max(n.most, l)
		n.output++
	}
	switch {
	case item.Body != nil:
		n.whole++
		stream, _ := object.Object(item.Body).Get("stream")
		options, _ := object.Object(item.Body).Get("stream_options")
		o, _ := object.Of(options)
		usage, _ := o.Get("include_usage")
		switch {
		case slices.Contains(item.Override, "stream"):
		case string(stream) != "true":
			n.still++
		case string(usage) != "true":
			n.mute++
		}
	case item.TokenIDs != nil:
		n.ids++
	case item.Prompt == "":
		n.messages++
	case item.InputLen > 0:
		n.made++
	}
	for name := range item.Extra {
		n.extra[name]++
	}
	n.compare(item)
}

// compare finds prompts that repeat, and what all of them begin with.
func (n *notes) compare(item workload.Item) {
	k := n.key[:0]
	switch {
	case item.Body != nil:
		k = append(k, item.Body...)
	case item.TokenIDs != nil:
		for _, id := range item.TokenIDs {
			k = binary.LittleEndian.AppendUint32(k, uint32(id))
		}
	default:
		for _, m := range item.Messages {
			if m.Raw != nil {
				k = append(append(k, m.Raw...), 0)
			} else {
				k = append(append(append(append(k, m.Role...), 0), m.Content...), 0)
			}
		}
	}
	n.key = k
	if len(n.hashes) == 0 {
		n.prefix, n.short = slices.Clone(k[:min(len(k), 1<<20)]), len(k)
	}
	n.hashes = append(n.hashes, maphash.Bytes(n.seed, k))
	n.short = min(n.short, len(k))
	n.bytes += int64(len(k))
	i := 0
	for i < len(n.prefix) && i < len(k) && n.prefix[i] == k[i] {
		i++
	}
	n.prefix = n.prefix[:i]
}

// end says what was found.
func (n *notes) end(s *Source) {
	rows := s.picked.n
	if bad, first := s.file.Bad(); bad+n.badRows > 0 {
		n.say("%d of %s left out since they cannot be read or asked (bad=%d); the first: %v", bad+n.badRows, count(s.file.Len()+bad, "row was", "rows were"), bad+n.badRows, cmp.Or(first, n.first))
	}
	if len(n.left) > 0 {
		var sum int64
		for _, c := range n.left {
			sum += c
		}
		n.say("%s left out since they ask nothing: %s", count(sum, "row was", "rows were"), n.reasons(0))
	}
	if left := s.file.Len() - rows; len(s.w.Dataset.Filter) > 0 || s.w.Dataset.Skip > 0 || s.w.Dataset.Limit > 0 && left > 0 {
		n.say("%d of %d dataset rows are used, as filter, skip and limit say", rows, s.file.Len())
	}
	if n.output > 0 && n.whole == 0 {
		over := ""
		if s.w.OutputTokens > 0 {
			over = ", which wins over workload.output_tokens"
		}
		lengths := fmt.Sprintf("%d to %d tokens", n.least, n.most)
		if n.least == n.most {
			lengths = fmt.Sprintf("%d tokens", n.least)
		}
		n.say("%d of %d dataset rows set their own output length (%s)%s", n.output, rows, lengths, over)
	}
	if n.messages > 0 && s.name == "" {
		n.say("%d of %d dataset rows have no question; their messages are sent as they are", n.messages, rows)
	}
	if n.made > 0 {
		n.say("%s made up of common words, one token each in most vocabularies (seeds.run %d); the server's counts say what it came to", count(n.made, "prompt is", "prompts are"), s.seed)
	}
	if n.ids > 0 {
		n.say("%d of %d prompts are sent as token ids", n.ids, rows)
	}
	if n.ownSystem > 0 {
		n.say("%d of %d dataset rows have a system message of their own, which wins over workload.system", n.ownSystem, rows)
	}
	if names := slices.Sorted(maps.Keys(n.extra)); len(names) > 0 {
		var parts []string
		for _, name := range names {
			parts = append(parts, fmt.Sprintf("%s (%d)", name, n.extra[name]))
		}
		n.say("of %d dataset rows, these set body fields of their own, which win over the spec's: %s", rows, strings.Join(parts, ", "))
	}
	if n.still > 0 {
		n.say("%d of %d request bodies ask for no stream, so that their answers have no token times; workload.dataset.override: [stream] changes that", n.still, rows)
	}
	if n.mute > 0 {
		n.say("%d of %d request bodies do not ask for usage (stream_options.include_usage), so that a server may not count their tokens", n.mute, rows)
	}
	n.repeats(rows)
}

// worthSaying is how many bytes all prompts must share before it is said: about a
// page of a prefix cache.
const worthSaying = 256

func (n *notes) repeats(rows int64) {
	slices.Sort(n.hashes)
	distinct := int64(len(slices.Compact(n.hashes)))
	if again := rows - distinct; again > 0 {
		n.say("%d of %d prompts (%.3g %%) repeat an earlier one; they can hit the server's prefix cache", again, rows, 100*float64(again)/float64(rows))
	}
	if distinct > 1 && len(n.prefix) >= worthSaying {
		n.say("all prompts begin with the same %d bytes (%.3g %% of the shortest), which the server's prefix cache can serve", len(n.prefix), 100*float64(len(n.prefix))/float64(n.short))
	}
	n.hashes, n.prefix, n.key = nil, nil, nil
}
