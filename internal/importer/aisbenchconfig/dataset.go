package aisbenchconfig

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/spec"
)

// rowsOf is what the load needs to know of a dataset.
type rowsOf struct {
	abbr     string
	at       pyconf.Pos
	note     string // where the path came from
	template string
	body     []message // a body of several messages, in place of a template
	bodyNote string
	// n is the requests (or conversations) that AISBench sends; 0: nobody could
	// count them, why says why.
	n         int64
	nNote     string
	why       string
	have      int64 // rows of the file; 0: not known
	sessions  bool
	gone      bool // the file is not here
	timed     bool // rows carry timestamps
	made      func(warm int64) File
	from, to  *int64 // of a trace, ms
	fromField pyconf.Field
	toField   pyconf.Field
	shuffle   string // where it was asked for
	last      string // where infer_mode="last" stands: one request with all turns
}

// media are dataset classes whose rows are pictures, sound or films.
var media = []string{"mmcustomdataset", "textvqadataset", "docvqadataset", "infovqadataset", "ocrbench_v2", "videobenchdataset", "videommedataset", "vocalsounddataset", "mmmudataset", "mmmuprodataset", "mmstardataset"}

// dataset reads a dataset's dict and writes the workload.
func (j *job) dataset(d *pyconf.Dict, m *model) *rowsOf {
	c := j.c
	r := c.record(d, "dataset")
	rows := &rowsOf{at: d.At}
	last, whole, tf := r.class("type")
	abbr, af := r.text("abbr")
	if rows.abbr = abbr; abbr == "" {
		rows.abbr = strings.ToLower(strings.TrimSuffix(last, "Dataset"))
	} else {
		rows.at = af.At
	}
	columns, answer, from, to := j.reader(r)
	infer, _ := r.dict("infer_cfg")
	p := j.infer(infer, columns, answer, rows)
	lower := strings.ToLower(last)
	switch {
	case slices.Contains(media, lower):
		c.refuse(at(tf, d), "rows with messages in parts, images as URLs or data: docs/datasets.md", "pictures, sound and films (%s) are not converted", last)
	case lower == "syntheticdataset":
		j.synthetic(r, m, rows)
		p = prompt{} // its rows are whole prompts
	case lower == "mooncaketracedataset":
		j.mooncake(r, rows)
		p = prompt{}
	case lower == "sharegptdataset":
		j.shareGPT(r, rows)
		p = prompt{}
	case lower == "mtbenchdataset":
		j.mtbench(r, rows)
		p = prompt{}
	default:
		j.file(r, rows, lower, whole, tf)
		if !p.given {
			c.warn(d.At, "infer_cfg", "has no prompt template, without which AISBench ends with an error; the prompt is {question}")
		}
	}
	if p.given && len(c.refused) == 0 {
		j.writePrompt(p, m, rows)
	}
	r.accuracy()
	r.rest("has no meaning here")
	if len(c.refused) > 0 {
		return rows
	}
	j.output(m, rows)
	j.limit(rows, from, to)
	j.count(rows, to >= 0 || from > 0 || c.o.NumPrompts > 0)
	return rows
}

// infer reads infer_cfg: template, retriever, inferencer.
func (j *job) infer(d *pyconf.Dict, columns []string, answer string, rows *rowsOf) prompt {
	c := j.c
	if d == nil {
		return prompt{}
	}
	r := c.record(d, "infer_cfg")
	var p prompt
	if t, _ := r.dict("prompt_template"); t != nil {
		p = c.template(t, columns, answer)
	}
	r.idle("ice_template", "has no meaning here: no examples are put in front (ZeroRetriever)")
	if ret, f := r.dict("retriever"); ret != nil {
		rr := c.record(ret, "retriever")
		last, _, tf := rr.class("type")
		if last != "ZeroRetriever" {
			c.refuse(cmp.Or(tf.At, f.At), "write the examples into the prompt template, and ZeroRetriever", "the retriever %s puts examples in front of each prompt, which is not done here", last)
		}
		rr.rest("has no meaning here: no examples are put in front")
	}
	if inf, f := r.dict("inferencer"); inf != nil {
		ir := c.record(inf, "inferencer")
		last, _, tf := ir.class("type")
		mode, mf := ir.text("infer_mode")
		switch last {
		case "GenInferencer":
			if mode != "" {
				c.warn(mf.At, "infer_mode", "has no meaning without MultiTurnGenInferencer")
			}
		case "MultiTurnGenInferencer":
			j.turns(rows, mode, mf, tf)
		default:
			c.refuse(cmp.Or(tf.At, f.At), "GenInferencer, or MultiTurnGenInferencer", "the inferencer %s generates nothing that could be timed", last)
		}
		ir.rest("has no meaning here: load and workload say how much is asked and sent")
	}
	r.rest("has no meaning here")
	return p
}

// turns sets how conversations are sent.
func (j *job) turns(rows *rowsOf, mode string, mf, tf pyconf.Field) {
	f := mf
	if mode == "" {
		mode, f = "every", tf
	}
	switch mode {
	case "every", "every_with_gt":
		rows.sessions = true
		j.sheet.set("workload.sessions", true, j.c.from(f))
		history := "server"
		if mode != "every" {
			history = "recorded"
		}
		j.sheet.set("workload.history", history, j.c.from(f))
	case "last":
		rows.last = j.c.from(f)
	default:
		j.c.refuse(f.At, `"every", "last" or "every_with_gt"`, "infer_mode %q is not known", mode)
	}
}

var testRange = regexp.MustCompile(`^\[?\s*(\d*)\s*(:?)\s*(\d*)\s*\]?$`)

// reader reads reader_cfg: columns, and which rows (to is −1 for all).
func (j *job) reader(r *record) (columns []string, answer string, from, to int64) {
	c := j.c
	to = -1
	d, _ := r.dict("reader_cfg")
	if d == nil {
		return nil, "answer", 0, -1
	}
	rr := c.record(d, "reader_cfg")
	columns, _ = rr.texts("input_columns")
	answer, _ = rr.text("output_column")
	if f, ok := rr.field("test_range"); ok {
		switch v := f.Value.(type) {
		case int64:
			to = v
		case string:
			m := testRange.FindStringSubmatch(strings.TrimSpace(v))
			switch {
			case v == "":
			case m == nil:
				c.refuse(f.At, `such as "[:100]" or "[20:40]"`, "test_range %q is no range of rows", v)
			default:
				from, _ = strconv.ParseInt("0"+m[1], 10, 64)
				if m[3] != "" {
					to, _ = strconv.ParseInt(m[3], 10, 64)
				}
				if m[2] == "" {
					from, to = 0, from
				}
				if to >= 0 && to <= from {
					c.refuse(f.At, "", "test_range %q holds no row", v)
				}
			}
		default:
			c.refuse(f.At, `such as "[:100]"`, "test_range is %s", kindOf(f.Value))
		}
		if from > 0 {
			j.sheet.set("workload.dataset.skip", from, c.from(f))
		}
		if to >= 0 {
			j.sheet.set("workload.dataset.limit", to-from, c.from(f))
			to -= from
		}
	}
	rr.idles(map[string]string{
		"train_range": "no examples are taken from training rows", "train_split": "no examples are taken from training rows",
		"fix_id_list": "no examples are put in front",
	})
	if s, f := rr.text("test_split"); s != "" && s != "test" {
		c.warn(f.At, "test_split", "is %s; which file is read is named by workload.dataset.path", s)
	}
	rr.rest("has no meaning here")
	if answer == "" {
		answer = "answer"
	}
	return columns, answer, from, to
}

// limit applies --num-prompts where the config sets no range.
func (j *job) limit(rows *rowsOf, from, to int64) {
	if n := j.c.o.NumPrompts; n > 0 && to < 0 {
		if rows.made != nil {
			rows.n, rows.nNote = min(rows.n, n), "--num-prompts"
			return
		}
		j.sheet.set("workload.dataset.limit", n, "--num-prompts")
		if rows.n > 0 {
			rows.n, rows.nNote = min(rows.n, n), "--num-prompts"
		}
	} else if to >= 0 && rows.n > 0 {
		if rows.n -= from; rows.n > to {
			rows.n = to
		}
		rows.n = max(rows.n, 1)
	}
}

// file reads a dataset that is a file of rows, or a folder with one.
func (j *job) file(r *record, rows *rowsOf, lower, whole string, tf pyconf.Field) {
	c := j.c
	path, f := r.text("path")
	if path == "" {
		c.refuse(at(f, r.d), "name the file of rows", "the dataset %s has no path", rows.abbr)
		return
	}
	found, ok := c.find(path)
	if ok {
		if st, err := os.Stat(found); err == nil && st.IsDir() {
			inner, why := folder(found)
			if why != "" {
				c.refuse(f.At, "name the file of rows in path", "%s: %s", path, why)
				return
			}
			found = inner
		}
	} else {
		c.warn(f.At, "path", "%s does not exist here; put the rows there, or change workload.dataset.path", path)
		rows.gone = true
		if filepath.Ext(path) == "" && lower != "customdataset" {
			found = filepath.Join(path, "test.jsonl")
		}
	}
	if lower != "customdataset" && lower != "gsm8kdataset" {
		c.warn(at(tf, r.d), "type", "%s is read as the rows of %s: what that class makes of them in Python is not done here, so check the prompts with tokentape plan --show-request 0", whole, filepath.Base(found))
	}
	rows.note = c.from(f)
	rel := c.relative(found)
	j.sheet.set("workload.dataset.path", rel, rows.note)
	if ok {
		j.meta(r, rows, found, f)
	}
	for _, name := range []string{"meta_path", "custom_dataset_meta_path", "name", "data_type", "infer_method", "local_mode"} {
		r.idle(name, "has no meaning here: rows are read as they stand")
	}
}

// folder is the file of test rows in a folder as GSM8K's is laid out.
func folder(dir string) (path, why string) {
	for _, name := range []string{"test", filepath.Base(dir) + "_test", filepath.Base(dir), "data", "train"} {
		for _, ext := range []string{".jsonl", ".json", ".csv", ".parquet"} {
			p := filepath.Join(dir, name+ext)
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
				return p, ""
			}
		}
	}
	return "", "the folder holds no test.jsonl, .json, .csv or .parquet"
}

func (j *job) shareGPT(r *record, rows *rowsOf) {
	c := j.c
	path, f := r.text("path")
	if path == "" {
		c.refuse(r.d.At, "name the file", "the dataset %s has no path", rows.abbr)
		return
	}
	found, ok := c.find(path)
	if !ok {
		c.warn(f.At, "path", "%s does not exist here; put the rows there, or change workload.dataset.path", path)
		rows.gone = true
	}
	rows.note = c.from(f)
	j.sheet.set("workload.dataset.path", c.relative(found), rows.note)
	j.sheet.set("workload.dataset.format", "sharegpt", c.from(pyconf.Field{Name: "type", At: typeAt(r.d)}))
	if still, sf, given := r.truth("disable_shuffle"); given && !still {
		rows.shuffle = c.from(sf)
		c.warn(sf.At, "disable_shuffle", "AISBench shuffles without a seed; here seeds.order repeats the order")
	} else if !given {
		rows.shuffle = "AISBench's default of disable_shuffle"
	}
	if rows.last != "" {
		j.sheet.set("workload.dataset.turns", "all", rows.last)
	}
	if rows.sessions {
		c.warn(typeAt(r.d), "type", "in AISBench all turns take the model's max_out_len, and failed turns vanish from its totals; here every turn is a request of its own")
	}
}

func (j *job) mooncake(r *record, rows *rowsOf) {
	c := j.c
	path, f := r.text("path")
	if path == "" {
		c.refuse(at(f, r.d), "name the trace", "the dataset %s has no path", rows.abbr)
		return
	}
	found, ok := c.find(path)
	if !ok {
		c.warn(f.At, "path", "%s does not exist here; put the trace there, or change workload.dataset.path", path)
		rows.gone = true
	}
	rows.note, rows.timed = c.from(f), true
	j.sheet.set("workload.dataset.path", c.relative(found), rows.note)
	j.sheet.set("workload.dataset.format", "mooncake", c.from(pyconf.Field{Name: "type", At: typeAt(r.d)}))
	j.sheet.set("workload.dataset.time_unit", "ms", c.from(pyconf.Field{Name: "type", At: typeAt(r.d)}))
	if seed, sf, ok := r.whole("random_seed"); ok {
		j.sheet.set("seeds.run", seed, c.from(sf))
		c.warn(sf.At, "random_seed", "is taken as seed, yet the prompts are other words than AISBench's: common words instead of slices of a play, the same for equal hash_ids")
	}
	if p, gf := r.text("generated_prompts_path"); p != "" {
		c.warn(gf.At, "generated_prompts_path", "has no meaning here: prompts are made anew for each run from the seed, so that none are stale")
	}
	auto, autoField, _ := r.truth("fixed_schedule_auto_offset")
	start, sf, hasStart := r.whole("fixed_schedule_start_offset")
	end, ef, hasEnd := r.whole("fixed_schedule_end_offset")
	hasStart, hasEnd = hasStart && start > 0, hasEnd && end >= 0
	if !auto && autoField.Name != "" {
		r.none(autoField)
	}
	if !auto && (hasStart || hasEnd) { // counted in the trace's own times
		first, why := firstStamp(found)
		if why != "" {
			c.refuse(cmp.Or(sf.At, ef.At), "fixed_schedule_auto_offset=True, or put the trace there", "offsets without fixed_schedule_auto_offset count from the trace's own zero, and its first time could not be read: %s", why)
			return
		}
		start, end = start-first, end-first
	}
	if hasStart && start > 0 {
		rows.from, rows.fromField = &start, sf
	}
	if hasEnd {
		end++ // AISBench's window holds both its ends
		rows.to, rows.toField = &end, ef
	}
}

// output sets the length of answers.
func (j *job) output(m *model, rows *rowsOf) {
	if rows.body != nil {
		j.body(m, rows)
		return
	}
	if m.output > 0 {
		j.sheet.set("workload.output_tokens", m.output, m.outNote)
	}
	if m.sampling == nil {
		return
	}
	if m.class.api == mindie {
		return // they are part of target.custom.body
	}
	for _, f := range m.sampling.Fields {
		j.sheet.setKeys([]string{"workload", "sampling", f.Name}, f.Value, j.c.from(f))
	}
}

// body writes a body of several messages.
func (j *job) body(m *model, rows *rowsOf) {
	var list []pyconf.Value
	for _, one := range rows.body {
		list = append(list, &pyconf.Dict{Fields: []pyconf.Field{{Name: "role", Value: one.role}, {Name: "content", Value: one.text}}})
	}
	j.sheet.set("workload.body.model", m.name, rows.bodyNote)
	j.sheet.set("workload.body.messages", list, rows.bodyNote)
	if m.output > 0 {
		j.sheet.set("workload.body.max_tokens", m.output, m.outNote)
	}
	j.sheet.set("workload.body.stream", m.stream, rows.bodyNote)
	if m.stream {
		j.sheet.set("workload.body.stream_options", &pyconf.Dict{Fields: []pyconf.Field{{Name: "include_usage", Value: true}}}, "as AISBench asks for it")
	}
	if m.sampling != nil {
		for _, f := range m.sampling.Fields {
			v := f.Value
			if s, ok := v.(string); ok {
				v = strings.NewReplacer("{", "{{", "}", "}}").Replace(s)
			}
			j.sheet.setKeys([]string{"workload", "body", f.Name}, v, j.c.from(f))
		}
	}
	j.sheet.set("workload.dataset.override", []string{"model", "stream"}, rows.bodyNote)
	j.c.warn(rows.at, "template", "has several messages, so that the spec says the whole body; an output length of a row's own has no effect on it")
}

// count finds how many requests the rows make.
func (j *job) count(rows *rowsOf, part bool) {
	if rows.made != nil || len(j.files) > 0 {
		return // they are made with it
	}
	if rows.gone {
		rows.why = "its file is not here"
		return
	}
	if j.c.o.Count == nil {
		rows.why = "nobody counts rows here"
		return
	}
	w := spec.Default().Workload
	j.sheet.workload(&w)
	if !filepath.IsAbs(w.Dataset.Path) {
		w.Dataset.Path = filepath.Join(j.c.o.OutDir, w.Dataset.Path)
	}
	n, err := j.c.o.Count(w)
	if err != nil {
		rows.why = err.Error()
		return
	}
	if rows.have = n; rows.n > 0 {
		return
	}
	rows.n, rows.nNote = n, "as many as "+rows.abbr+" has rows"
	if rows.sessions {
		rows.nNote = "as many as " + rows.abbr + " has conversations"
	}
	if part {
		rows.nNote += " in that part"
	}
}

// workload reads back what decides which rows are used.
func (s *sheet) workload(w *spec.Workload) {
	get := func(path string) (string, bool) {
		at := &s.root
		for k := range strings.SplitSeq(path, ".") {
			var next *knot
			for _, kid := range at.kids {
				if kid.name == k {
					next = kid
				}
			}
			if next == nil {
				return "", false
			}
			at = next
		}
		v := at.value
		if strings.HasPrefix(v, `"`) {
			if u, err := strconv.Unquote(v); err == nil {
				v = strings.ReplaceAll(u, "$${", "${")
			}
		}
		return v, true
	}
	number := func(path string, to *int64) {
		if v, ok := get(path); ok {
			*to, _ = strconv.ParseInt(v, 10, 64)
		}
	}
	word := func(path string, to *string) {
		if v, ok := get(path); ok {
			*to = v
		}
	}
	word("workload.dataset.path", &w.Dataset.Path)
	word("workload.dataset.format", &w.Dataset.Format)
	word("workload.dataset.turns", &w.Dataset.Turns)
	word("workload.dataset.time_unit", &w.Dataset.TimeUnit)
	number("workload.dataset.skip", &w.Dataset.Skip)
	number("workload.dataset.limit", &w.Dataset.Limit)
	word("workload.template", &w.Template)
	word("workload.history", &w.History)
	if v, ok := get("workload.sessions"); ok && v == "true" {
		w.Sessions = true
		if w.Dataset.Turns == "first" {
			w.Dataset.Turns = "all"
		}
	}
}
