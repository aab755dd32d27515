package sim

import (
	"testing"

	"pgregory.net/rapid"
)

// Ids given one by one make the prompt that the counter makes of the text.
func TestAppendIsCounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		role, text := rapid.StringMatching(`[a-z]{1,9}`).Draw(t, "role"), rapid.String().Draw(t, "text")
		want := NewCounter(4)
		want.Message(role, text)
		want.Reply()
		want.Text(text)
		got := NewCounter(4)
		for _, id := range AppendText(AppendReply(AppendMessage(nil, role, text)), text) {
			got.Token(id)
		}
		if got.Prompt().Hash != want.Prompt().Hash || got.Prompt().Tokens != want.Prompt().Tokens {
			t.Fatalf("%+v, want %+v", got.Prompt(), want.Prompt())
		}
	})
}
