package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"tokentape/internal/secret"
)

// Bounds of one answer that is taken apart.
const (
	maxLeaves = 20_000
	maxNested = 12 // deeper values are kept as a whole
)

// facts takes an answer apart: every value by the endpoint and its path in the JSON,
// "/get_server_info internal_states[0].tp_size". What is under a credential's name is
// masked. An answer that is no JSON object or list is one fact.
func facts(secrets *secret.Set, path string, body []byte) map[string]string {
	out := map[string]string{}
	path = secrets.Mask(path)
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		out[path] = short(secrets, string(body))
		return out
	}
	t := taker{secrets, out}
	if list := byID(v); list != nil {
		v = list
	}
	t.take(path+" ", v, 0, false)
	return out
}

// byID is a list of models with the ids in place of the numbers, so that their order
// means nothing; nil: it is no such list.
func byID(v any) any {
	top, _ := v.(map[string]any)
	data, _ := top["data"].([]any)
	if len(data) == 0 {
		return nil
	}
	out := map[string]any{}
	for _, e := range data {
		card, _ := e.(map[string]any)
		id, ok := card["id"].(string)
		if !ok || out[id] != nil {
			return nil
		}
		card = maps.Clone(card)
		delete(card, "id")
		delete(card, "permission") // ids drawn for each answer
		out[id] = card
	}
	return out
}

type taker struct {
	secrets *secret.Set
	out     map[string]string
}

func (t taker) take(name string, v any, depth int, hidden bool) {
	if len(t.out) >= maxLeaves {
		return
	}
	if depth == maxNested {
		b, _ := json.Marshal(v) // it was read from JSON
		t.put(name, string(b), hidden)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			sep := "."
			if strings.HasSuffix(name, " ") {
				sep = ""
			}
			t.take(name+sep+t.key(k), v[k], depth+1, hidden || secret.Name(k))
		}
		if len(v) == 0 {
			t.put(name, "{}", false)
		}
	case []any:
		if flat := scalars(v); flat != "" || len(v) == 0 {
			t.put(name, "["+flat+"]", hidden && len(v) > 0)
			return
		}
		for i, e := range v {
			t.take(fmt.Sprintf("%s[%d]", name, i), e, depth+1, hidden)
		}
	case nil: // says nothing
	case string:
		t.put(name, v, hidden && v != "")
	case bool:
		t.put(name, fmt.Sprint(v), false)
	default:
		t.put(name, fmt.Sprint(v), hidden)
	}
}

// scalars are the texts of a list of nothing else, of up to 64 elements.
func scalars(list []any) string {
	if len(list) > 64 {
		return ""
	}
	words := make([]string, len(list))
	for i, e := range list {
		switch e := e.(type) {
		case string:
			words[i] = e
		case json.Number, bool:
			words[i] = fmt.Sprint(e)
		default:
			return ""
		}
	}
	return strings.Join(words, ", ")
}

// key is part of a name.
func (t taker) key(k string) string {
	return short(t.secrets, strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, k))
}

func (t taker) put(name, v string, hidden bool) {
	if name = strings.TrimSuffix(name, " "); len(name) > 2*maxFact {
		name = endpointOf(name) + " " + short(t.secrets, name)
	}
	if v = short(t.secrets, v); hidden {
		v = secret.Mask
	}
	t.out[name] = v
}

// settings are first words of names of settings: however it goes on, such a value is
// given and does not move.
var settings = []string{"max", "min", "enable", "disable", "default", "allow", "log", "num"}

// given are words that make a setting of a name wherever they stand.
var given = []string{"max", "min", "limit", "name", "path", "type", "mode"}

// timeWords and liveWords are words of names whose values move by themselves: times, counters, loads,
// states. Those of startWords do not: they tell of a restart.
var (
	timeWords = []string{"uptime", "timestamp", "now", "created", "modified", "expires", "expiry", "elapsed", "age", "date", "until"}
	liveWords = []string{
		"running", "waiting", "queued", "pending", "inflight", "active", "idle", "busy", "usage", "used", "free", "available", "throughput", "latency",
		"count", "counter", "hits", "misses", "temperature", "power", "utilization", "util", "rss", "last", "avg", "mean", "current", "remaining", "processed",
		"finished", "completed", "generated", "status", "state", "health", "healthy", "sleeping", "ready", "uuid", "step", "permission",
	}
	startWords = []string{"start", "started", "boot", "launch", "launched", "pid"}
	// countWords are words that make a counter of a name that begins with num.
	countWords = []string{"running", "waiting", "queue", "queued", "pending", "used", "free", "finished", "swapped", "reqs", "requests"}
)

// volatile reports whether a fact moves by itself, by its name.
func volatile(name string) bool {
	_, path, ok := strings.Cut(name, " ")
	if !ok {
		return false
	}
	last := path[strings.LastIndexAny(path, ".")+1:]
	words := strings.FieldsFunc(strings.ToLower(last), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(startWords, w) }) {
		return false
	}
	in := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	switch {
	case words[0] == "num" && in(countWords):
		return true
	case slices.Contains(settings, words[0]), in(given):
		return false
	}
	return in(timeWords) || in(liveWords) || strings.Contains(path, "memory_usage") || last == "load" || last == "loads"
}
