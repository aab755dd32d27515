package exchange

import (
	"strings"
	"unicode/utf8"
)

// maxMessage bounds a message on the tape, in bytes.
const maxMessage = 500

// minSecret is the shortest secret that is masked: shorter ones would make
// messages unreadable and hide nothing.
const minSecret = 4

// mask replaces every secret by "***". A secret that the end of s cut short is
// taken away too, since s may have been bounded before it came here.
func (e *Exchanger) mask(s string) string {
	for _, secret := range e.cfg.Secrets {
		if len(secret) < minSecret {
			continue
		}
		s = strings.ReplaceAll(s, secret, "***")
		for k := len(secret) - 1; k >= minSecret; k-- {
			if strings.HasSuffix(s, secret[:k]) {
				s = s[:len(s)-k] + "***"
				break
			}
		}
	}
	return s
}

// message makes s fit for the tape: valid UTF-8 on one line, masked, bounded.
func (e *Exchanger) message(s string) string {
	return bound(oneLine(e.mask(s)), maxMessage)
}

// quote is the beginning of a body for a message: masked, then cut.
func (e *Exchanger) quote(head []byte) string {
	return bound(oneLine(e.mask(string(head))), quoted)
}

// oneLine folds white space and control characters, so that a message stays on
// one line of a report and cannot steer a terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// bound cuts s to at most n bytes at a character's border, and shows that it did.
func bound(s string, n int) string {
	const more = " …"
	if len(s) <= n {
		return s
	}
	cut := n - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}
