package tokenizer

import (
	"fmt"
	"slices"
	"strings"
)

// parseHF reads a tokenizer.json.
func parseHF(data []byte, cfg *config) (*Tokenizer, error) {
	doc, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	if !doc.get("model").has() {
		return nil, fmt.Errorf("model: is missing; a tokenizer.json has one. A vocab.json alone does not say how to split text")
	}
	t := &Tokenizer{sanitize: wellFormed}
	t.normalize = readNormalizer(doc.get("normalizer"))
	steps := readPreTokenizer(doc.get("pre_tokenizer"))
	readModel(t, doc.get("model"), steps.endsInBytes)
	t.steps, t.align = steps.done(t.normalize != nil)
	if *doc.fail != nil {
		return nil, *doc.fail
	}
	t.readAddedTokens(doc.get("added_tokens"))
	t.decode = t.readDecoder(doc.get("decoder"))
	t.readPostProcessor(doc.get("post_processor"))
	if *doc.fail != nil {
		return nil, *doc.fail
	}
	t.noteConfig(cfg)
	return t, nil
}

// readAddedTokens numbers the added tokens as the reference does: by the model's
// vocabulary, else behind it in order. A file that says otherwise is refused,
// since two readers of it would count differently.
func (t *Tokenizer) readAddedTokens(n node) {
	t.added = map[int32]addedToken{}
	ids := map[string]int32{}
	next := int32(t.model.size())
	var order []string
	toks := map[string]addedToken{}
	for _, item := range n.list() {
		a := readAdded(item, int32(item.get("id").number(maxID)))
		if *n.fail != nil {
			return
		}
		if a.content == "" {
			continue
		}
		want, ok := ids[a.content]
		if !ok {
			if want, ok = t.model.id(a.content); !ok {
				want = next
				next++
			}
		}
		if want != a.id {
			item.errorf("id %d of %q; the reference implementation would number it %d: the file contradicts itself", a.id, a.content, want)
			return
		}
		if _, ok := ids[a.content]; !ok {
			order = append(order, a.content)
		}
		next = max(next, want+1)
		ids[a.content], toks[a.content], t.added[a.id] = a.id, a, a
	}
	all := make([]addedToken, 0, len(order))
	for _, special := range []bool{true, false} {
		for _, c := range order {
			if toks[c].special == special {
				all = append(all, toks[c])
			}
		}
	}
	t.setAdded(all)
}

// setAdded builds the sets that find the added tokens in text.
func (t *Tokenizer) setAdded(toks []addedToken) {
	var raw, norm []addedToken
	var lookRaw, lookNorm []string
	for _, a := range toks {
		if !a.normalized {
			raw, lookRaw = append(raw, a), append(lookRaw, a.content)
			continue
		}
		look := a.content
		if t.normalize != nil {
			look = t.normalize(text{s: look}, false).s
		}
		norm, lookNorm = append(norm, a), append(lookNorm, look)
	}
	t.addedRaw, t.addedNorm = newAddedSet(raw, lookRaw), newAddedSet(norm, lookNorm)
}

// readPostProcessor reads what goes around a text.
func (t *Tokenizer) readPostProcessor(n node) {
	if !n.has() {
		return
	}
	pair := func(key string) int32 {
		l := n.get(key).list()
		if len(l) != 2 {
			n.get(key).errorf("must be a token and its id")
			return 0
		}
		return int32(l[1].number(maxID))
	}
	around := func(before, after []int32) {
		t.before, t.after = slices.Concat(before, t.before), slices.Concat(t.after, after)
	}
	switch kind := n.get("type").text(); kind {
	case "Sequence":
		for _, p := range n.get("processors").list() {
			t.readPostProcessor(p)
		}
	case "ByteLevel": // trims offsets only; ours keep the blanks
	case "BertProcessing", "RobertaProcessing":
		around([]int32{pair("cls")}, []int32{pair("sep")})
	case "TemplateProcessing":
		var sides [2][]int32
		side := 0
		for _, item := range n.get("single").list() {
			if seq := item.get("Sequence"); seq.has() {
				if id := seq.get("id").text(); id != "A" || side == 1 {
					seq.errorf("the text must stand there once, as sequence A")
				}
				side = 1
				continue
			}
			name := item.get("SpecialToken").get("id").text()
			var ids node
			n.get("special_tokens").each(func(key string, v node) {
				if key == name {
					ids = v.get("ids")
				}
			})
			if ids.v == nil {
				item.errorf("special_tokens has no %q", name)
				return
			}
			for _, id := range ids.list() {
				sides[side] = append(sides[side], int32(id.number(maxID)))
			}
		}
		if side == 0 {
			n.get("single").errorf("has no place for the text")
		}
		around(sides[0], sides[1])
	default:
		n.get("type").errorf("post-processor %q is not supported", kind)
	}
}

// noteConfig says where transformers would overrule the file: its Llama and Gemma
// classes put the begin and end tokens that tokenizer_config.json asks for.
func (t *Tokenizer) noteConfig(cfg *config) {
	if !strings.HasPrefix(cfg.class, "Llama") && !strings.HasPrefix(cfg.class, "Gemma") && !strings.HasPrefix(cfg.class, "CodeLlama") {
		return
	}
	check := func(flag *bool, name, tok string, have []int32) {
		if flag == nil || tok == "" {
			return
		}
		id, ok := t.ID(tok)
		if !ok || *flag == slices.Contains(have, id) {
			return
		}
		does := "adds none"
		if !*flag {
			does = "adds it"
		}
		t.notes = append(t.notes, fmt.Sprintf(
			"tokenizer_config.json says %s=%v (%s), tokenizer.json %s: servers that load tokenizers through transformers follow the former, so that a plain prompt may count one token apart.",
			name, *flag, tok, does))
	}
	check(cfg.addBOS, "add_bos_token", cfg.bos, t.before)
	check(cfg.addEOS, "add_eos_token", cfg.eos, t.after)
}
