package dialect

// MaxAccepted is the most drafts a verify step can have accepted for a list of
// steps by accepted drafts to be taken; a longer list is no such thing.
const MaxAccepted = 1024

// Pairs of names that SGLang and its kin gave the counts of accepted and of
// proposed drafts, newest first.
var draftNames = [...][2]string{
	{"spec_num_correct_drafts", "spec_num_proposed_drafts"},
	{"spec_accepted_drafts", "spec_proposed_drafts"},
	{"spec_accept_token_num", "spec_draft_token_num"},
	{"spec_accepted_tokens", "spec_draft_tokens"}, // TokenSpeed
}

// drafts are the counts of speculation that one object holds, of one choice.
type drafts struct {
	accepted, proposed [len(draftNames)]int64
	verify             int64
	steps              value // verify steps by accepted drafts
}

func noDrafts() (d drafts) {
	for k := range draftNames {
		d.accepted[k], d.proposed[k] = Unknown, Unknown
	}
	d.verify = Unknown
	return d
}

// field takes a member of SGLang's meta_info or spec_tokens_details. The ready-made
// ratios are the engine's word and stay apart.
func (d *drafts) field(c *core, key []byte, v value) {
	if len(key) < 5 || string(key[:5]) != "spec_" {
		return
	}
	switch string(key) {
	case "spec_verify_ct":
		d.verify = v.count()
		return
	case "spec_correct_drafts_histogram", "spec_accept_histogram":
		if v.is('[') {
			d.steps = v
		}
		return
	case "spec_accept_rate", "spec_accept_length":
		c.state(string(key), v.number())
		return
	}
	for k, pair := range draftNames {
		switch string(key) {
		case pair[0]:
			d.accepted[k] = v.count()
		case pair[1]:
			d.proposed[k] = v.count()
		}
	}
}

// keep stores the counts with their choice: a complete pair wins over half of
// another.
func (d *drafts) keep(ch *choice) {
	set(&ch.verify, d.verify)
	if d.steps != nil {
		ch.steps = counts(ch.steps[:0], d.steps)
	}
	for k := range draftNames {
		if d.accepted[k] != Unknown && d.proposed[k] != Unknown {
			ch.accepted, ch.drafted = d.accepted[k], d.proposed[k]
			return
		}
	}
	for k := range draftNames {
		set(&ch.accepted, d.accepted[k])
		set(&ch.drafted, d.proposed[k])
	}
}

// counts reads a list of counts. It is empty where one is none, or where they are
// too many.
func counts(dst []int64, list value) []int64 {
	for e := list.elements(); e.next(); {
		n := e.val().count()
		if n == Unknown || len(dst) > MaxAccepted {
			return dst[:0]
		}
		dst = append(dst, n)
	}
	return dst
}

// speculated adds up the counts of the choices.
func (c *core) speculated() {
	verify, accepted, drafted := Unknown, Unknown, Unknown
	add := func(to *int64, n int64) {
		if n != Unknown {
			*to = min(max(*to, 0)+n, maxCount)
		}
	}
	c.facts.StepsAccepting = c.facts.StepsAccepting[:0]
	for i := range c.choices {
		ch := &c.choices[i]
		add(&verify, ch.verify)
		add(&accepted, ch.accepted)
		add(&drafted, ch.drafted)
		for j, n := range ch.steps {
			if j == len(c.facts.StepsAccepting) {
				c.facts.StepsAccepting = append(c.facts.StepsAccepting, 0)
			}
			c.facts.StepsAccepting[j] = min(c.facts.StepsAccepting[j]+n, maxCount)
		}
	}
	c.drafts(accepted, drafted, verify)
}

// drafts takes counts in the engine's own words: drafts accepted and proposed,
// and verify steps. What a usage object says under OpenAI's names, which mean a
// prediction that the request gave, never replaces them.
func (c *core) drafts(accepted, drafted, verify int64) {
	c.ownDrafts = c.ownDrafts || accepted != Unknown || drafted != Unknown
	set(&c.facts.Accepted, accepted)
	set(&c.facts.Drafted, drafted)
	set(&c.facts.Verify, verify)
	if a, d := c.facts.Accepted, c.facts.Drafted; a != Unknown && d != Unknown {
		if c.facts.Rejected = d - a; a > d {
			c.facts.Rejected = Unknown // the tape shows both
		}
	}
}

// sglext reads what SGLang adds to an answer of its OpenAI routes when the body
// asks with return_spec_tokens_details.
func (c *core) sglext(v value) {
	if v = v.get("spec_tokens_details"); v.is('{') {
		ch := choice{verify: Unknown, accepted: Unknown, drafted: Unknown}
		c.metaDrafts(v, &ch)
		if len(ch.steps) > 0 {
			c.facts.StepsAccepting = ch.steps
		}
		c.drafts(ch.accepted, ch.drafted, ch.verify)
	}
}

// metaDrafts reads an object with SGLang's names into ch.
func (c *core) metaDrafts(v value, ch *choice) {
	d := noDrafts()
	for m := v.members(); m.next(); {
		d.field(c, m.key, m.val)
	}
	d.keep(ch)
}

// vllmMetrics reads what vLLM adds to an answer when it was started with
// --per-request-spec-decode-metrics.
func (c *core) vllmMetrics(v value) {
	s := v.get("speculative_decoding")
	if !s.is('{') {
		return
	}
	accepted, drafted, verify := Unknown, Unknown, Unknown
	for m := s.members(); m.next(); {
		switch string(m.key) {
		case "num_accepted_draft_tokens":
			accepted = m.val.count()
		case "num_draft_tokens":
			drafted = m.val.count()
		case "num_spec_steps":
			verify = m.val.count()
		case "acceptance_histogram":
			c.facts.StepsAccepting = counts(c.facts.StepsAccepting[:0], m.val)
		case "mean_acceptance_length", "draft_acceptance_rate":
			c.state(string(m.key), m.val.number())
		}
	}
	c.drafts(accepted, drafted, verify)
}
