package aisbenchconfig

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/secret"
)

// class is what a model class of AISBench speaks.
type class struct {
	api    string
	stream string // "field": the field stream says, False when left out; "always"
	turns  bool   // made for conversations
}

// classes by their names in lower case; aliases of older versions too.
var classes = map[string]class{
	"vllmcustomapichat":          {"openai-chat", "field", false},
	"vllmcustomapichatstream":    {"openai-chat", "always", false},
	"vllmmultiturnapichatstream": {"openai-chat", "always", true},
	"vllmcustomapi":              {"openai-completions", "field", false},
	"vllmcustomapistream":        {"openai-completions", "always", false},
	"tgicustomapi":               {"tgi", "field", false},
	"tgicustomapistream":         {"tgi", "always", false},
	"tritoncustomapi":            {"triton-generate", "field", false},
	"tritoncustomapistream":      {"triton-generate", "always", false},
	"mindiestreamapi":            {"custom", "always", false},
}

// mindie: the whole text so far comes with each event, which is how AISBench reads
// it.
const mindie = "custom"

// defaultOutput is what max_out_len is in AISBench's service classes when left out.
const defaultOutput = 4096

// model is what the load needs to know of a model.
type model struct {
	abbr       string
	at         pyconf.Pos
	class      class
	stream     bool
	name       string
	sampling   *pyconf.Dict
	outNote    string
	output     int64
	batch      int64
	batchField pyconf.Field
	rate       float64
	rateField  pyconf.Field
	timestamps bool
	timesField pyconf.Field
	traffic    *pyconf.Dict
	attempts   int64
	tryField   pyconf.Field
	copies     int64 // num_return_sequences
}

// accuracy are fields of a model or dataset that only the scoring of answers reads.
var accuracy = map[string]string{
	"pred_postprocessor": "answers are not scored here", "eval_cfg": "answers are not scored here", "response_anomaly": "answers are not judged here",
	"meta_template": "roles are those of the API: system, user and assistant", "verbose": "the tape has everything; --debug is of AISBench",
	"run_cfg": "there are no tasks on devices here", "min_out_len": "put min_tokens into generation_kwargs if the server knows it",
	"returns_tool_calls": "tool calls are always recorded as such", "summarizer_abbr": "has no meaning here",
}

func (r *record) accuracy() {
	r.idles(accuracy)
}

// model reads a model's dict and writes the target.
func (j *job) model(d *pyconf.Dict) *model {
	c := j.c
	r := c.record(d, "model")
	m := &model{at: d.At}
	last, whole, f := r.class("type")
	known, ok := classes[strings.ToLower(last)]
	if !ok {
		hint := "known: VLLMCustomAPIChat, VLLMCustomAPI, TGICustomAPI, TritonCustomAPI (each also with Stream at its end), VllmMultiturnAPIChatStream, MindieStreamApi"
		if f.At.Line == 0 {
			f.At = d.At
		}
		c.refuse(f.At, hint, "the model class %q is not one that can be asked here", whole)
		return m
	}
	m.class = known
	if attr, f := r.text("attr"); attr != "" && attr != "service" {
		c.refuse(f.At, `attr="service", and a server to ask`, "attr is %q: models that run inside AISBench are not load tests of a server", attr)
	}
	abbr, f := r.text("abbr")
	if m.abbr = abbr; abbr == "" {
		m.abbr = "model"
	} else {
		m.at = f.At
	}
	j.url(r, m)
	j.sheet.set("target.api", known.api, c.from(pyconf.Field{Name: "type", At: typeAt(d)}))
	j.served(r, m)
	j.key(r, m)
	j.tokenizer(r)

	stream, sf, given := r.truth("stream")
	m.stream = stream
	switch {
	case known.stream == "always":
		m.stream = true
		if given && !stream {
			c.warn(sf.At, "stream", "is False, and %s streams all the same, there and here", last)
		}
		sf = pyconf.Field{Name: "type", At: typeAt(d)}
	case !given:
		c.warn(d.At, "stream", "is left out, which in AISBench means no stream: no TTFT, TPOT or gaps. workload.stream: true measures them")
		sf = pyconf.Field{}
	}
	j.sheet.set("workload.stream", m.stream, c.from(sf))

	m.batch, m.batchField, ok = r.whole("batch_size")
	if !ok {
		m.batch = 1
	} else if m.batch < 1 {
		c.refuse(m.batchField.At, "1 or more", "batch_size is %d: nothing would be sent", m.batch)
	}
	m.rate, m.rateField, _ = r.number("request_rate")
	if m.rate < 0 {
		c.refuse(m.rateField.At, "0: as fast as batch_size allows", "request_rate is %v", m.rate)
	}
	if m.rate > mostRate {
		c.refuse(m.rateField.At, "0: as fast as batch_size allows", "request_rate is %v, above %.0f requests/s", m.rate, mostRate)
	}
	m.timestamps, m.timesField, _ = r.truth("use_timestamp")
	if _, present := d.Get("use_timestamp"); present && !m.timestamps {
		r.none(m.timesField)
	}
	m.traffic, _ = r.dict("traffic_cfg")
	m.attempts, m.tryField, ok = r.whole("retry")
	if !ok {
		m.attempts = 2
	}
	out, of, given := r.whole("max_out_len")
	switch m.output, m.outNote = out, c.from(of); {
	case !given:
		m.output, m.outNote = defaultOutput, "AISBench's default of max_out_len"
	case out <= 0:
		c.warn(of.At, "max_out_len", "is %d, for which AISBench sends an empty body; here no limit is sent, so that it is the server's own", out)
		m.output = 0
	}
	m.sampling = j.generation(r, m)
	if known.api == mindie {
		j.mindie(m, c.from(pyconf.Field{Name: "type", At: typeAt(d)}))
	}
	r.idles(map[string]string{
		"trust_remote_code":  "no code of a model is run here: tokenizers are read from their files",
		"lora_data_map_file": "name the adapter of each row in a column, and workload.dataset.extra: [model]",
	})
	r.accuracy()
	r.rest("is not known to AISBench's model classes either, and has no meaning here")
	return m
}

func typeAt(d *pyconf.Dict) pyconf.Pos {
	if f, ok := d.Get("type"); ok {
		return f.At
	}
	return d.At
}

// url makes target.url of url, or of host_ip and host_port.
func (j *job) url(r *record, m *model) {
	c := j.c
	raw, f := r.text("url")
	host, hf := r.text("host_ip")
	port, pf, hasPort := r.whole("host_port")
	ssl, sf, _ := r.truth("enable_ssl")
	scheme := "http://"
	if ssl {
		scheme = "https://"
	}
	if raw = strings.TrimSpace(raw); raw != "" {
		if host != "" || hasPort {
			c.off = append(c.off, c.short(hf.At)+" host_ip and host_port beside url")
		}
		if !strings.Contains(raw, "://") {
			raw = scheme + raw
		} else if ssl {
			r.none(sf)
		}
		if i := strings.IndexAny(raw, "?#"); i >= 0 {
			c.warn(f.At, "url", "what follows %q is left out: AISBench loses it too, and it would not be sent", raw[i:i+1])
			raw = raw[:i]
		}
		for _, end := range []string{"/v1", "/v1/chat/completions", "/v1/completions"} {
			if strings.HasSuffix(strings.TrimSuffix(raw, "/"), end) {
				c.warn(f.At, "url", "ends in %s, to which AISBench adds a second /v1; here it is taken as it is meant", end)
			}
		}
		j.sheet.set("target.url", j.withoutPassword(raw, r.d, f), c.from(f))
		return
	}
	if _, present := r.d.Get("url"); present {
		r.none(f)
	}
	if host == "" {
		host, hf = "localhost", pyconf.Field{}
	}
	if !hasPort {
		port = 8080
	}
	if port < 1 || port > 65535 {
		c.refuse(pf.At, "1 to 65535", "host_port is %d", port)
	}
	bare := strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(bare)
	if err != nil && host != "localhost" {
		if strings.ContainsAny(host, "/:@ ") {
			c.refuse(hf.At, "a URL goes into url, a port into host_port", "host_ip is neither an address nor a name")
			return
		}
		c.warn(hf.At, "host_ip", "%s is a name, which AISBench refuses; here it is looked up", host)
	}
	if err == nil && ip.Is6() {
		host = "[" + bare + "]"
	}
	note := c.from(hf)
	if hf.Name == "" {
		note = "AISBench's default of host_ip"
	}
	if hasPort {
		note += ", " + c.from(pf)
	} else {
		note += ", AISBench's default of host_port"
	}
	if ssl {
		note += ", " + c.from(sf)
	}
	j.sheet.set("target.url", fmt.Sprintf("%s%s:%d", scheme, host, port), note)
}

// withoutPassword takes user and password out of a URL.
func (j *job) withoutPassword(url string, d *pyconf.Dict, f pyconf.Field) any {
	head, rest, _ := strings.Cut(url, "://")
	at := strings.LastIndexByte(rest, '@') // a password may hold a slash
	if at < 0 {
		return url
	}
	if key, _ := d.Get("api_key"); !nothing(key.Value) {
		j.c.warn(f.At, "url", "holds a user and a password beside api_key, which AISBench's client refuses; the key is kept, and they are left out")
		return head + "://" + rest[at+1:]
	}
	name := j.variable("AISBENCH_USERINFO")
	j.hold(name, rest[:at])
	j.c.warn(f.At, "url", "holds a user and a password, which are not written down: export %s=USER:PASSWORD", name)
	return raw(`"` + head + "://${" + name + "}" + strings.Trim(quoted(rest[at:]), `"`) + `"`)
}

// variable notes an environment variable that the spec refers to.
func (j *job) variable(name string) string {
	if !slices.Contains(j.vars, name) {
		j.vars = append(j.vars, name)
	}
	return name
}

// hold keeps a value of clear text in memory.
func (j *job) hold(name, value string) {
	if j.clear == nil {
		j.clear = map[string]string{}
	}
	j.clear[name] = value
}

func (j *job) served(r *record, m *model) {
	name, f := r.text("model")
	other, of := r.text("model_name")
	if name == "" {
		name, f = other, of
	}
	m.name = name
	switch {
	case name != "":
		j.sheet.set("target.model", name, j.c.from(f))
	case m.class.api == "triton-generate":
		j.c.refuse(r.d.At, `model_name="NAME"`, "Triton's path names the model, and the config does not")
	default:
		if f, present := r.d.Get("model"); present {
			r.none(f)
		}
	}
}

// key refers to the API key, and never holds it.
func (j *job) key(r *record, m *model) {
	c := j.c
	f, ok := r.field("api_key")
	if !ok {
		return
	}
	value, isText := f.Value.(string)
	if !isText {
		c.refuse(f.At, "write a text", "api_key is %s; a text is needed", kindOf(f.Value))
		return
	}
	name, set := j.source(f, value)
	switch {
	case name == "" && value == "":
		r.none(f)
		return
	case name == "":
		name = j.variable("AISBENCH_API_KEY")
		j.hold(name, value)
		if len(f.Env) > 0 {
			c.warn(f.At, "api_key", "is made of $%s and more; the whole is not written down here: export %s=…", strings.Join(f.Env, ", $"), name)
		} else {
			c.warn(f.At, "api_key", "stands there in clear text, and AISBench writes it into its outputs; it is not written down here: export %s=…", name)
		}
		j.sheet.set("target.api_key", raw("${"+name+"}"), c.from(f))
	case !set && value == "":
		j.sheet.set("target.api_key", raw("${"+name+":-}"), c.from(f))
	case !set:
		j.hold(j.variable(name), value)
		c.warn(f.At, "api_key", "has a default in clear text, which is not written down here: export %s=…", name)
		j.sheet.set("target.api_key", raw("${"+name+"}"), c.from(f))
	default:
		j.variable(name)
		j.sheet.set("target.api_key", raw("${"+name+"}"), c.from(f))
	}
	if m.class.api != "openai-chat" && m.class.api != "openai-completions" {
		c.warn(f.At, "api_key", "is not sent by AISBench's class for this API; here it is, as Authorization: Bearer")
	}
}

// source is the environment variable that a secret came from, "" when it stands in the
// config, and whether it was set.
func (j *job) source(f pyconf.Field, value string) (name string, set bool) {
	if len(f.Env) == 1 && f.Alone {
		name = f.Env[0]
	}
	set = value != ""
	for _, read := range j.c.config.Reads {
		if name == "" && value != "" && read.Set && read.Value == value {
			name = read.Name // by way of a variable
		}
		if read.Name == name {
			set = read.Set
		}
	}
	return name, set
}

// hidden is a value of the body with its secrets as references to the environment;
// what stands in the config is held for a run in this very process.
// within: it stands below a credential's name.
func (j *job) hidden(f pyconf.Field, path string, within bool) pyconf.Value {
	c := j.c
	within = within || secret.Name(f.Name)
	if value, isText := f.Value.(string); isText && within && value == "" && f.Alone && len(f.Env) == 1 {
		return raw(`"${` + j.variable(f.Env[0]) + `:-}"`)
	} else if isText && within && value != "" {
		name, set := j.source(f, value)
		if name == "" || !set {
			if name == "" {
				name = j.bodyVariable(path[strings.LastIndexByte(path, '.')+1:])
			}
			j.hold(name, value)
			c.warn(f.At, path, "looks like a secret and is not written down: export %s=…", name)
		}
		return raw(`"${` + j.variable(name) + `}"`)
	}
	switch v := f.Value.(type) {
	case *pyconf.Dict:
		out := &pyconf.Dict{At: v.At}
		for _, g := range v.Fields {
			g.Value = j.hidden(g, path+"."+g.Name, within)
			out.Fields = append(out.Fields, g)
		}
		return out
	case []pyconf.Value:
		var out []pyconf.Value
		for i, e := range v {
			out = append(out, j.hidden(pyconf.Field{Value: e, At: f.At, Env: f.Env}, fmt.Sprintf("%s[%d]", path, i), within))
		}
		return out
	}
	return f.Value
}

// bodyVariable is a new name for a secret of the body.
func (j *job) bodyVariable(field string) string {
	base := "AISBENCH_BODY_" + strings.ToUpper(strings.Map(letters, field))
	name := base
	for n := 2; slices.Contains(j.vars, name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// tokenizer is the folder of the model's tokenizer.
func (j *job) tokenizer(r *record) {
	c := j.c
	path, f := r.text("path")
	if path == "" {
		if f, present := r.d.Get("path"); present {
			r.none(f)
		}
		return
	}
	const goes = "so target.tokenizer is left out, and counts are the server's own"
	found, ok := c.find(path)
	if !ok {
		c.warn(f.At, "path", "the tokenizer folder %s does not exist here, %s", path, goes)
		return
	}
	if c.o.TokenizerProblem != nil {
		if why := c.o.TokenizerProblem(found); why != "" {
			c.warn(f.At, "path", "%s cannot be used as a tokenizer (%s), %s", path, why, goes)
			return
		}
	}
	j.sheet.set("target.tokenizer", c.relative(found), c.from(f))
}

// find looks for a path where AISBench would, and beside the config.
func (c *converter) find(path string) (string, bool) {
	for _, p := range []string{path, filepath.Join(filepath.Dir(c.path), path)} {
		if _, err := os.Stat(p); err == nil {
			return p, true
		}
		if filepath.IsAbs(path) {
			break
		}
	}
	return path, false
}

// relative is a path as the spec has to say it.
func (c *converter) relative(path string) string {
	abs, err := filepath.Abs(path)
	out, err2 := filepath.Abs(c.o.OutDir)
	if err != nil || err2 != nil || filepath.IsAbs(path) {
		return path
	}
	rel, err := filepath.Rel(out, abs)
	if err != nil {
		return abs
	}
	return filepath.ToSlash(rel)
}

// taken are body fields that other settings of a spec give.
var taken = map[string]string{
	"model": "model", "max_tokens": "max_out_len", "max_completion_tokens": "max_out_len", "max_new_tokens": "max_out_len",
	"messages": "the dataset", "prompt": "the dataset", "inputs": "the dataset", "text_input": "the dataset",
}

// generation reads generation_kwargs: what is left of it goes into the body.
func (j *job) generation(r *record, m *model) *pyconf.Dict {
	c := j.c
	d, f := r.dict("generation_kwargs")
	if d == nil {
		if f.At.Line == 0 {
			c.warn(r.d.At, "generation_kwargs", "is left out, for which AISBench ends with a KeyError; nothing is added to the body")
		}
		return nil
	}
	out := &pyconf.Dict{At: d.At}
	for _, g := range d.Fields {
		own, isTaken := taken[g.Name]
		switch {
		case isTaken:
			c.warn(g.At, "generation_kwargs."+g.Name, "is left out: %s decides it, as in AISBench", own)
		case g.Name == "stream":
			v, ok := g.Value.(bool)
			if !ok || v == m.stream {
				r.none(g)
				continue
			}
			c.warn(g.At, "generation_kwargs.stream", "overrides the field stream, in AISBench behind its own back; workload.stream follows it")
			m.stream = v
			j.sheet.set("workload.stream", v, c.from(g))
		case g.Name == "num_return_sequences":
			if n, ok := g.Value.(int64); ok && n > 1 {
				m.copies = n
				c.warn(g.At, "generation_kwargs.num_return_sequences", "AISBench sends each row %d times, and the field too; here load.requests is %d times the rows, sent round by round (workload.repeat: cycle)", n, n)
				continue
			}
			r.none(g)
		case g.Name == "lora_data_map_file":
			c.warn(g.At, "generation_kwargs.lora_data_map_file", "has no meaning here: name the adapter of each row in a column, and workload.dataset.extra: [model]; all requests go to the base model")
		default:
			g.Value = j.hidden(g, "generation_kwargs."+g.Name, false)
			out.Fields = append(out.Fields, g)
		}
	}
	return out
}

func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}

// mindie writes MindIE's own API as a custom one: the whole text so far comes in
// each event, as AISBench reads it.
func (j *job) mindie(m *model, note string) {
	s := &j.sheet
	s.set("target.custom.path", "/infer", note)
	s.set("target.custom.framing", "sse", note)
	s.set("target.custom.body.inputs", "{prompt}", note)
	s.set("target.custom.body.stream", true, note)
	if m.output > 0 {
		s.set("target.custom.body.parameters.max_new_tokens", "{max_tokens}", m.outNote)
	}
	if m.sampling != nil {
		for _, f := range m.sampling.Fields {
			s.setKeys([]string{"target", "custom", "body", "parameters", f.Name}, f.Value, j.c.from(f))
		}
	}
	s.set("target.custom.text", "generated_text", note)
	s.set("target.custom.cumulative", true, note)
	j.c.warn(m.at, "type", "MindIE's own API is written as target.api: custom; counts are not read from its answers (target.custom.usage takes paths)")
}
