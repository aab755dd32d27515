package rows

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"tokentape/internal/spec"
)

// A setting that the rows leave without effect is refused, whether the format was
// named or found.
func TestIdleSettings(t *testing.T) {
	const (
		messages = `{"messages":[{"role":"user","content":"a"}]}`
		talk     = `{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}`
		trace    = `{"timestamp":0,"input_length":3,"output_length":1,"hash_ids":[1],"n":5}`
	)
	type data = spec.Dataset
	columns := func(of ...string) data {
		d := data{Columns: map[string]string{}}
		for i := 0; i < len(of); i += 2 {
			d.Columns[of[i]] = of[i+1]
		}
		return d
	}
	for _, c := range []struct {
		name, row string
		set       data
		want      string // "" accepted
	}{
		{"turns of questions", `{"question":"a"}`, data{Turns: "all"}, "workload.dataset.turns: has no effect: the rows are questions"},
		{"turns of messages", messages, data{Turns: "all"}, "workload.dataset.turns: has no effect"},
		{"turns of a trace", trace, data{Turns: "all"}, "workload.dataset.turns: has no effect: the rows are a Mooncake trace"},
		{"turns of conversations", talk, data{Turns: "all"}, ""},
		{"blocks of questions", `{"question":"a"}`, data{BlockTokens: 16}, "workload.dataset.block_tokens: has no effect"},
		{"blocks of a trace", trace, data{BlockTokens: 16}, ""},
		{"a column that nobody reads", `{"question":"a","n":5}`, columns("max_token", "n"), "workload.dataset.columns.max_token: has no effect: the rows are questions; did you mean max_tokens: n?"},
		{"the answer's length", `{"question":"a","n":5}`, columns("max_tokens", "n"), ""},
		{"a column for the extra fields", `{"question":"a","n":5}`, data{Columns: map[string]string{"model": "n"}, Extra: []string{"model"}}, ""},
		{"a column for the filter", `{"question":"a","n":5}`, data{Columns: map[string]string{"kind": "n"}, Filter: map[string]any{"kind": 5}}, ""},
		{"a question of messages", `{"messages":[{"role":"user","content":"a"}],"n":5}`, data{Format: "messages", Columns: map[string]string{"question": "n"}}, "columns.question: has no effect: the rows are messages"},
		{"a sampling field of messages", `{"messages":[{"role":"user","content":"a"}],"n":5}`, columns("seed", "n"), ""},
		{"the output of a trace under another's name", trace, columns("ContextTokens", "n"), "columns.ContextTokens: has no effect: the rows are a Mooncake trace"},
		{"bodies with a field more", `{"messages":[],"n":5}`, data{Format: "bodies", Columns: map[string]string{"max_tokens": "n"}}, "columns.max_tokens: has no effect: the rows are whole request bodies; remove it; looked at are: body, timestamp"},
		{"bodies elsewhere", `{"request":{"messages":[]}}`, data{Format: "bodies", Columns: map[string]string{"body": "request"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := write(t, "a.jsonl", c.row)
			c.set.Path, c.set.OnBadRow = w.Dataset.Path, "fail"
			w.Dataset = c.set
			if c.want == "" {
				mustOpen(t, w)
				return
			}
			refuses(t, w, c.want)
		})
	}
	w := write(t, "a.jsonl", talk)
	w.Dataset.Turns, w.Body = "all", map[string]any{"q": "{conversations}"}
	refuses(t, w, "workload.dataset.turns: has no effect: the rows are filled into workload.body")
	w = write(t, "a.jsonl", messages)
	w.Dataset.Turns, w.Sessions = "all", true // as resolved for sessions
	mustOpen(t, w)
}

// Errors call a setting what it is called where the user wrote it.
func TestNames(t *testing.T) {
	w := spec.Default().Workload
	w.Dataset.Path = "none.jsonl"
	_, err := OpenWith(w, 1, Options{Names: map[string]string{"workload.dataset.path": "prepare.dataset", "--dataset or workload.dataset.path": "prepare.dataset"}})
	if err == nil || !strings.Contains(err.Error(), "none.jsonl: prepare.dataset: there is no such file; name another file with prepare.dataset") || strings.Contains(err.Error(), "workload.") {
		t.Error(err)
	}
	w = write(t, "a.jsonl", `{"question":"a"}`)
	w.Body = map[string]any{"inputs": []any{"x", map[string]any{"text": "{q"}}}
	refuses(t, w, `workload.body.inputs[1].text: character 1 of "{q": this brace is not closed`)
	w.Body = nil
	path := w.Dataset.Path
	for _, c := range []struct {
		part spec.Part
		want string
	}{
		{spec.Part{Dataset: "none.jsonl", Weight: 1}, "none.jsonl: workload.mix[1].dataset: there is no such file; name another file with workload.mix[1].dataset"},
		{spec.Part{Dataset: path, Weight: 1, Template: "{"}, "workload.mix[1].template: character 1"},
	} {
		w.Mix = []spec.Part{{Dataset: path, Weight: 1}, c.part}
		if _, err := OpenMix(w, 1, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Error(err)
		}
	}
}

// Settings of several datasets need mean something to one of them only.
func TestSharedSettings(t *testing.T) {
	talk := write(t, "a.jsonl", `{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}`)
	asks := write(t, "b.jsonl", `{"question":"a"}`)
	asks.Dataset.Turns = "all"
	if _, err := OpenWith(asks, 1, Options{Shared: true}); err != nil {
		t.Error(err)
	}
	for want, list := range map[string][]string{
		"": {asks.Dataset.Path, talk.Dataset.Path},
		"workload.dataset.turns: has no effect: the rows are questions": {asks.Dataset.Path, asks.Dataset.Path},
	} {
		w := asks
		for _, path := range list {
			w.Mix = append(w.Mix, spec.Part{Dataset: path, Weight: 1})
		}
		m, err := OpenMix(w, 1, Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v", list, err)
		}
		if m != nil {
			m.Close()
		}
	}
}

func TestMooncakeBlocks(t *testing.T) {
	w := write(t, "a.jsonl", `{"timestamp":0,"input_length":20,"output_length":1,"hash_ids":[1,2]}`+"\n"+
		`{"timestamp":1,"input_length":18,"output_length":1,"hash_ids":[1,3]}`)
	refuses(t, w, "a.jsonl:1:1: 2 hash_ids are not those of 20 tokens; a row has one id for every 512 tokens", "workload.dataset.block_tokens")
	w.Dataset.BlockTokens = 16
	p := prompts(t, mustOpen(t, w))
	a, b := strings.Fields(p[0]), strings.Fields(p[1])
	if len(a) != 20 || len(b) != 18 || strings.Join(a[:16], " ") != strings.Join(b[:16], " ") || a[16] == b[16] && a[17] == b[17] {
		t.Errorf("%q", p)
	}
	w.Dataset.BlockTokens = 8
	refuses(t, w, "2 hash_ids are not those of 20 tokens; a row has one id for every 8 tokens")
}

// The times of a Parquet table replay, whatever type they have.
func TestParquetTimes(t *testing.T) {
	type seconds struct {
		Timestamp int64 `parquet:"timestamp"`
		In        int64 `parquet:"input_length"`
		Out       int64 `parquet:"output_length"`
	}
	type millis struct {
		Timestamp time.Time `parquet:"timestamp,timestamp(millisecond)"`
		In        int64     `parquet:"input_length"`
		Out       int64     `parquet:"output_length"`
	}
	type micros struct {
		Timestamp time.Time `parquet:"timestamp,timestamp(microsecond)"`
		In        int64     `parquet:"input_length"`
		Out       int64     `parquet:"output_length"`
	}
	type nanos struct {
		Timestamp time.Time `parquet:"timestamp,timestamp(nanosecond)"`
		In        int64     `parquet:"input_length"`
		Out       int64     `parquet:"output_length"`
	}
	type legacy struct {
		Timestamp deprecated.Int96 `parquet:"timestamp"`
		In        int64            `parquet:"input_length"`
		Out       int64            `parquet:"output_length"`
	}
	const start = 1700000000
	at := func(ms int64) time.Time { return time.UnixMilli(start*1000 + ms) }
	old := func(ms uint64) deprecated.Int96 { // day 2460263 is 2023-11-14, 22:13:20 of it
		n := (80000*1000 + ms) * 1e6
		return deprecated.Int96{uint32(n), uint32(n >> 32), 2460263}
	}
	table := func(rows any) string {
		var b bytes.Buffer
		var err error
		switch r := rows.(type) {
		case []seconds:
			err = parquet.Write(&b, r)
		case []millis:
			err = parquet.Write(&b, r)
		case []micros:
			err = parquet.Write(&b, r)
		case []nanos:
			err = parquet.Write(&b, r)
		case []legacy:
			err = parquet.Write(&b, r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, rows := range map[string]any{
		"milliseconds since 1970": []seconds{{start * 1000, 3, 1}, {start*1000 + 500, 3, 1}, {start*1000 + 200, 3, 1}},
		"from 0":                  []seconds{{0, 3, 1}, {500, 3, 1}, {200, 3, 1}},
		"millisecond":             []millis{{at(0), 3, 1}, {at(500), 3, 1}, {at(200), 3, 1}},
		"microsecond":             []micros{{at(0), 3, 1}, {at(500), 3, 1}, {at(200), 3, 1}},
		"nanosecond":              []nanos{{at(0), 3, 1}, {at(500), 3, 1}, {at(200), 3, 1}},
		"96 bits":                 []legacy{{old(0), 3, 1}, {old(500), 3, 1}, {old(200), 3, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, "a.parquet", table(rows))
			s := mustOpen(t, w)
			if got := s.Times(); len(got) != 3 || got[1] != 200e6 || got[2] != 500e6 {
				t.Errorf("%d: %q", got, s.Notes())
			}
		})
	}
	w := write(t, "a.parquet", table([]millis{{at(0), 3, 1}, {at(500), 3, 1}}))
	w.Dataset.TimeUnit = "s"
	refuses(t, w, "workload.dataset.time_unit: has no effect: the times are dates")
	refuses(t, write(t, "a.parquet", table([]millis{})), "a.parquet: the table has no rows")
	refuses(t, write(t, "a.jsonl", `{"timestamp":"2023-11-14T22:13:20Z","input_length":3,"output_length":1}`), "a.jsonl:1:1: timestamp is", "no number")
}

func TestWhere(t *testing.T) {
	w := write(t, "a.jsonl", "\n{\"question\":\"a\"}\n\n{\"question\":\"b\"}\n")
	s := mustOpen(t, w)
	if got := s.Where(1); got != w.Dataset.Path+":4" {
		t.Error(got)
	}
	w.Mix = []spec.Part{{Dataset: w.Dataset.Path, Weight: 1}, {Dataset: w.Dataset.Path, Weight: 1}}
	m, err := OpenMix(w, 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := m.Where(2); got != w.Dataset.Path+":2" {
		t.Error(got)
	}
}

// Whoever watches is told of both passes, from the start to the end, in order.
func TestWatch(t *testing.T) {
	line := `{"question":"` + strings.Repeat("a b ", 1000) + "\"}\n"
	for _, name := range []string{"a.jsonl", "a.json", "a.csv"} {
		text := strings.Repeat(line, 1000)
		switch name {
		case "a.json":
			text = "[" + strings.TrimSuffix(strings.ReplaceAll(text, "\n", ",\n"), ",\n") + "]"
		case "a.csv":
			text = "question\n" + strings.Repeat(strings.Repeat("a b ", 1000)+"\n", 1000)
		}
		w := write(t, name, text)
		type told struct {
			what        string
			done, total int64
		}
		var all []told
		s, err := OpenWith(w, 1, Options{Watch: func(what string, done, total int64) { all = append(all, told{what, done, total}) }})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		ends := 0
		for i, x := range all {
			if x.total != int64(len(text)) || x.done > x.total || i > 0 && x.what == all[i-1].what && x.done < all[i-1].done {
				t.Errorf("%s: %+v", name, x)
			}
			if x.done == x.total {
				ends++
			}
		}
		if len(all) < 8 || len(all) > 14 || ends != 2 || all[0].what != "reading" || all[len(all)-1].what != "checking" {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
