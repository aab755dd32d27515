package workload

import (
	"strings"
	"testing"
)

func talk(text string) Item {
	roles := map[byte]string{'s': "system", 'u': "user", 'a': "assistant", 't': "tool"}
	var item Item
	for _, w := range strings.Fields(text) {
		item.Messages = append(item.Messages, Message{Role: roles[w[0]], Content: w})
	}
	return item
}

func shown(item Item) string {
	var out []string
	for _, m := range item.Messages {
		out = append(out, m.Content)
	}
	return strings.Join(out, " ")
}

func TestConversation(t *testing.T) {
	for _, tt := range []struct {
		text     string
		recorded bool
		want     string // turns, by |; or the error after !
	}{
		{"u1", false, "u1"},
		{"s u1 a1 u2 a2 u3", false, "s u1|s u1 r0 u2|s u1 r0 u2 r1 u3"},
		{"s u1 a1 u2 a2 u3", true, "s u1|s u1 a1 u2|s u1 a1 u2 a2 u3"},
		{"u1 u2 u3", false, "u1|u1 r0 u2|u1 r0 u2 r1 u3"},
		{"u1 u2 a2 u3", true, "u1 u2|u1 u2 a2 u3"},
		{"u1 a1 t1 a2 u2", true, "u1|u1 a1 t1|u1 a1 t1 a2 u2"},
		{"u1 a1 t1 a2 u2", false, "!tool"},
		{"u1 a1 a1b u2 a2", false, "u1|u1 r0 u2"},
		{"a1 u1", false, "!asks nothing"},
		{"s", true, "!asks nothing"},
		{"u1 s2", false, "!asks nothing"},
		{"", true, "!no messages"},
	} {
		c, err := Converse(talk(tt.text), tt.recorded)
		if why, bad := strings.CutPrefix(tt.want, "!"); bad || err != nil {
			if err == nil || !bad || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
			}
			continue
		}
		var got []string
		for k := range c.Turns() {
			var replies []string
			if !tt.recorded {
				replies = []string{"r0", "r1", "r2"}
			}
			got = append(got, shown(c.Turn(k, replies)))
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s (recorded %v): %q", tt.text, tt.recorded, got)
		}
	}
}
