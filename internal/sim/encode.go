package sim

// TokenizerVersion names the rules of the simulated tokenizer and its template;
// it changes when they do.
const TokenizerVersion = "sim/1"

// AppendText appends the ids of a text's tokens, as Counter.Text counts them.
func AppendText(dst []uint64, s string) []uint64 {
	for len(s) > 0 {
		n := next(s)
		dst = append(dst, textID(s[:n]))
		s = s[n:]
	}
	return dst
}

// AppendMessage appends the ids of one chat message, as Counter.Message counts
// it.
func AppendMessage(dst []uint64, role, content string) []uint64 {
	return append(AppendText(append(dst, idStart, textID(role), idNewline), content), idEnd)
}

// AppendReply appends the ids of the answer's opening, as Counter.Reply counts
// it.
func AppendReply(dst []uint64) []uint64 {
	return append(dst, idStart, textID("assistant"), idNewline)
}
