package aisbenchconfig

import (
	"fmt"
	"io"
	"math"
	"math/rand"
	"strings"
)

// maxTokens and maxRows are AISBench's own limits of synthetic sets.
const (
	maxTokens = 1 << 20
	maxRows   = 1 << 20
)

// lengths draws one length after the other, and says what of.
type lengths struct {
	draw func() int64
	what string // as dataset build takes it
}

// synthetic reads config=dict(Type=…, RequestCount=…).
func (j *job) synthetic(r *record, m *model, rows *rowsOf) {
	c := j.c
	d, f := r.dict("config")
	if d == nil {
		c.refuse(at(f, r.d), "config=dict(Type=…, RequestCount=…, StringConfig=…)", "the synthetic dataset has no config")
		return
	}
	s := c.record(d, "config")
	kind, kf := s.text("Type")
	n, nf, ok := s.whole("RequestCount")
	if !ok || n < 1 || n > maxRows {
		c.refuse(at(nf, d), fmt.Sprintf("1 to %d", maxRows), "RequestCount is %d", n)
		return
	}
	rows.n, rows.nNote = n, c.from(nf)
	s.idle("TrustRemoteCode", "has no meaning here: no code of a model is run")
	j.sheet.set("workload.dataset.format", "mooncake", c.from(kf)+": rows are lengths")
	rows.note = c.from(f)
	switch strings.ToLower(kind) {
	case "string":
		j.strings(s, m, rows)
		s.idle("TokenIdConfig", "has no meaning beside Type string")
	case "tokenid":
		j.tokenIDs(s, m, rows)
		s.idle("StringConfig", "has no meaning beside Type tokenid")
	default:
		c.refuse(at(kf, d), "string or tokenid", "Type %q is not known", kind)
	}
	s.rest("is not known to AISBench's synthetic dataset, and has no meaning here")
	for _, name := range []string{"path", "model_path"} {
		r.idle(name, "has no meaning here: the prompts are words, one token each in most vocabularies")
	}
}

func (j *job) strings(s *record, m *model, rows *rowsOf) {
	c := j.c
	d, f := s.dict("StringConfig")
	if d == nil {
		c.refuse(at(f, s.d), "StringConfig=dict(Input=dict(Method=…, Params=…), Output=…)", "Type string needs StringConfig")
		return
	}
	r := c.record(d, "StringConfig")
	in, out := j.lengthsOf(r, "Input"), j.lengthsOf(r, "Output")
	r.rest("has no meaning here")
	if in.draw == nil || out.draw == nil {
		return
	}
	build := ""
	if in.what != "" && out.what != "" {
		build = fmt.Sprintf("; exact by the model's own tokenizer: tokentape dataset build --tokenizer DIR --requests %d --input %s --output-len %s --out FILE", rows.n, in.what, out.what)
	}
	c.warn(f.At, "StringConfig", "AISBench's prompts are \"A A A…\": each begins as every longer one, so that a prefix cache serves them. Here each is of other words, as long in tokens as asked (one token a word in most vocabularies)%s", build)
	if eos, _ := m.sampling.Get("ignore_eos"); eos.Value != true {
		c.warn(f.At, "StringConfig.Output", "is the most that an answer may be; without ignore_eos in generation_kwargs answers end sooner, there and here")
	}
	n := rows.n
	rows.made = func(warm int64) File {
		return File{"rows.jsonl", func(w io.Writer) error {
			for i := range n + warm {
				if _, err := fmt.Fprintf(w, "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d}\n", i*1000, in.draw(), out.draw()); err != nil {
					return err
				}
			}
			return nil
		}}
	}
}

// lengthsOf reads dict(Method=…, Params=dict(…)).
func (j *job) lengthsOf(r *record, name string) lengths {
	c := j.c
	d, f := r.dict(name)
	if d == nil {
		c.refuse(at(f, r.d), name+`=dict(Method="uniform", Params=dict(MinValue=…, MaxValue=…))`, "StringConfig has no %s", name)
		return lengths{}
	}
	s := c.record(d, name)
	method, mf := s.text("Method")
	pd, pf := s.dict("Params")
	if pd == nil {
		c.refuse(at(pf, d), "Params=dict(MinValue=…, MaxValue=…)", "%s has no Params", name)
		return lengths{}
	}
	p := c.record(pd, "Params")
	whole := func(key string) int64 {
		v, vf, ok := p.whole(key)
		if !ok || v < 1 || v > maxTokens {
			c.refuse(at(vf, pd), fmt.Sprintf("1 to %d", maxTokens), "%s of %s is %d", key, name, v)
		}
		return v
	}
	number := func(key string) float64 {
		v, vf, ok := p.number(key)
		if !ok {
			c.refuse(at(vf, pd), "a number", "%s has no %s", name, key)
		}
		return v
	}
	lo, hi := whole("MinValue"), whole("MaxValue")
	if lo > hi {
		c.refuse(pd.At, "MinValue ≤ MaxValue", "%s: MinValue %d is above MaxValue %d", name, lo, hi)
		return lengths{}
	}
	bound := func(v float64) int64 { return int64(math.Min(math.Max(v, float64(lo)), float64(hi))) }
	rng := rand.New(rand.NewSource(seed + int64(len(name))))
	var l lengths
	switch strings.ToLower(method) {
	case "uniform":
		l = lengths{func() int64 { return lo + rng.Int63n(hi-lo+1) }, fmt.Sprintf("uniform:%d-%d", lo, hi)}
		if lo < hi {
			c.warn(mf.At, name+".Method", "uniform: AISBench truncates, so that MaxValue %d never comes; here every length from %d to %d is as likely", hi, lo, hi)
		} else {
			l.what = fmt.Sprint(lo)
		}
	case "gaussian":
		mean, variance := number("Mean"), number("Var")
		if variance < 0 {
			c.refuse(pd.At, "0 or more", "Var of %s is %v", name, variance)
			return lengths{}
		}
		sd := math.Sqrt(variance)
		l = lengths{func() int64 { return bound(math.Round(mean + sd*rng.NormFloat64())) }, ""}
		if sd > 0 {
			l.what = fmt.Sprintf("normal:%.0f,%.0f,%d-%d", mean, sd, lo, hi)
		}
	case "zipf":
		alpha := number("Alpha")
		if !(alpha > 1 && alpha <= 10) {
			c.refuse(pd.At, "above 1, to 10", "Alpha of %s is %v", name, alpha)
			return lengths{}
		}
		z := rand.NewZipf(rng, alpha, 1, 1<<40)
		l = lengths{func() int64 { return bound(float64(z.Uint64() + 1)) }, fmt.Sprintf("zipf:%v,%d-%d", alpha, lo, hi)}
	default:
		c.refuse(at(mf, d), "uniform, gaussian or zipf", "the Method %q of %s is not known", method, name)
	}
	p.rest("has no meaning beside Method " + method)
	s.rest("has no meaning here")
	return l
}

// maxIDs bounds the hash_ids of a row.
const maxIDs = 4096

func (j *job) tokenIDs(s *record, m *model, rows *rowsOf) {
	c := j.c
	d, f := s.dict("TokenIdConfig")
	if d == nil {
		c.refuse(at(f, s.d), "TokenIdConfig=dict(RequestSize=…, PrefixLen=0)", "Type tokenid needs TokenIdConfig")
		return
	}
	r := c.record(d, "TokenIdConfig")
	size, sf, ok := r.whole("RequestSize")
	if !ok || size < 1 || size > maxTokens {
		c.refuse(at(sf, d), fmt.Sprintf("1 to %d", maxTokens), "RequestSize is %d", size)
		return
	}
	prefix, pf, _ := r.whole("PrefixLen")
	if prefix < 0 || prefix > size {
		c.refuse(at(pf, d), "0 to RequestSize", "PrefixLen is %d", prefix)
		return
	}
	r.rest("has no meaning here")
	ids := int64(0)
	if prefix > 0 {
		if ids = (size + prefix - 1) / prefix; ids > maxIDs {
			c.refuse(pf.At, "0, or at least a 4096th of RequestSize", "PrefixLen %d of %d tokens is too short to be shared by blocks", prefix, size)
			return
		}
		j.sheet.set("workload.dataset.block_tokens", prefix, c.from(pf)+": the first block is shared")
	} else if pf.Name != "" {
		r.none(pf)
	}
	c.warn(f.At, "TokenIdConfig", "AISBench turns random ids into text, which has another length when it is read again; here prompts are words, one token each in most vocabularies. Exact by the model's own tokenizer: tokentape dataset build --tokenizer DIR --requests %d --input %d%s --out FILE",
		rows.n, size, cached(prefix))
	output := m.output
	if output <= 0 {
		output = 1
		c.warn(f.At, "TokenIdConfig", "rows of lengths need an output length, and max_out_len gives none: it is 1")
	}
	n := rows.n
	rows.made = func(warm int64) File {
		return File{"rows.jsonl", func(w io.Writer) error {
			var b strings.Builder
			for i := range n + warm {
				b.Reset()
				fmt.Fprintf(&b, "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d", i*1000, size, output)
				if ids > 0 {
					b.WriteString(", \"hash_ids\": [0")
					for k := int64(1); k < ids; k++ {
						fmt.Fprintf(&b, ", %d", 1+i*ids+k)
					}
					b.WriteByte(']')
				}
				b.WriteString("}\n")
				if _, err := io.WriteString(w, b.String()); err != nil {
					return err
				}
			}
			return nil
		}}
	}
}

func cached(prefix int64) string {
	if prefix == 0 {
		return ""
	}
	return fmt.Sprintf(" --cached-tokens %d --page-size 1", prefix)
}
