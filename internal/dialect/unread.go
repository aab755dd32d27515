package dialect

import (
	"bytes"
	"strings"
)

// Unread is a count that came and is no whole number from 0 on, or one beyond any
// count: its name on the tape, and the value as it came.
type Unread struct{ Name, Value string }

// Bounds of what is kept of such counts, in bytes.
const (
	maxUnread     = 40  // of one value
	maxUnreadList = 200 // of UnreadList
)

// count is v.count(). A value that came and is none is noted under name, its name
// on the tape: what is not a count must not pass for one that was left out.
func (c *core) count(name string, v value) int64 {
	n := v.count()
	if n == maxCount { // or above: the tape would not hold it as it came
		n = Unknown
	}
	if n == Unknown && !v.null() {
		c.unread(name, v)
	}
	return n
}

// unread keeps the last word on a name.
func (c *core) unread(name string, v value) {
	said := clip(bytes.Join(bytes.Fields(v), nil), maxUnread)
	for i := range c.facts.Unread {
		if c.facts.Unread[i].Name == name {
			c.facts.Unread[i].Value = said
			return
		}
	}
	c.facts.Unread = append(c.facts.Unread, Unread{name, said})
}

// UnreadList are these counts in the words of the tape: "cached=-3 output=2.5".
func (f *Facts) UnreadList() string {
	var b strings.Builder
	for _, u := range f.Unread {
		if b.Len()+len(u.Name)+len(u.Value)+2 > maxUnreadList {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(u.Name + "=" + u.Value)
	}
	return b.String()
}
