package report

import "fmt"

// remotes lists what each address did, when there is more than one.
func (c *console) remotes() {
	if len(c.r.Remotes) < 2 {
		return
	}
	for _, m := range c.r.Remotes {
		text := fmt.Sprintf("%s: %s %s = %s ok + %s failed + %s cancelled%s, %s %s", clean(m.Address), count(m.Requests), plural(m.Requests, "request"),
			count(m.OK), count(m.Failed), count(m.Cancelled), abandoned(m.Abandoned), count(m.Connections), plural(m.Connections, "connection"))
		style := plain
		if m.Failed > 0 {
			style = yellow
		}
		c.hang("            ", text, style)
	}
}
