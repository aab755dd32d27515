package dialect

import "bytes"

// named takes the name of the model that a payload gives: the last word wins, so
// that a server which goes over to another model in mid-stream is seen.
func (c *core) named(v value) {
	if !v.is('"') {
		return
	}
	if text := c.str(v); len(text) > 0 && string(text) != c.facts.Model {
		c.facts.Model = clip(text, maxName)
	}
}

// ModelOf is the model that a request body names, at most 200 bytes of it; "": it
// names none. The body is what Dialect.Body made.
func ModelOf(body []byte) string {
	for m := value(bytes.Trim(body, space)).members(); m.next(); {
		if string(m.key) == "model" {
			return clip(m.val.word(), maxName)
		}
	}
	return ""
}
