package dialect

import "tokentape/tape"

// timings reads the object of that name that llama.cpp adds to its answers, of
// any API. Counts of tokens fill in what no usage object said; the times are
// what the server says of itself and stay apart: 1 token in 0.028 ms is no rate
// that a client saw.
func (c *core) timings(t value) {
	if !t.is('{') {
		return
	}
	cached, prompt, output, drafted, accepted, verify := Unknown, Unknown, Unknown, Unknown, Unknown, Unknown
	for m := t.members(); m.next(); {
		switch string(m.key) {
		case "cache_n":
			cached = c.count("cached", m.val)
		case "prompt_n": // without the cached ones
			prompt = c.count("input", m.val)
		case "predicted_n":
			output = c.count("output", m.val)
		case "draft_n":
			drafted = m.val.count()
		case "draft_n_accepted":
			accepted = m.val.count()
		case "draft_n_verif_steps", "draft_rounds": // some of its kin, such as mlx-vlm
			verify = m.val.count()
		case "prompt_ms":
			c.state("prompt_ms", m.val.number())
		case "predicted_ms":
			c.state("predicted_ms", m.val.number())
		}
	}
	if c.facts.Cached == Unknown {
		c.facts.Cached = cached
	}
	if cached != Unknown && prompt != Unknown {
		c.input(cached+prompt, tape.SourceEngine)
	}
	c.output(output, tape.SourceEngine)
	c.drafts(accepted, drafted, verify)
}
