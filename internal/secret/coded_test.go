package secret

import (
	"encoding/base64"
	hexadecimal "encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A secret within a text that was coded as a whole is found wherever it stands.
func TestCoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hush := rapid.StringMatching(`[!-~]{8,40}`).Draw(t, "secret")
		before := rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "after")
		s := New([]string{hush})
		whole := []byte(before + hush + after)
		for _, coded := range []string{
			base64.StdEncoding.EncodeToString(whole), base64.URLEncoding.EncodeToString(whole), base64.RawStdEncoding.EncodeToString(whole),
			hexadecimal.EncodeToString(whole), fmt.Sprintf("%X", whole),
		} {
			got := s.Mask("x " + coded + " y")
			if !strings.Contains(got, Mask) {
				t.Fatalf("%q in %q: %q", hush, coded, got)
			}
			// What is left is too short to tell the secret by.
			for _, c := range codings(hush) {
				if strings.Contains(got, c[:len(c)*3/4]) {
					t.Fatalf("%q in %q: %q is left in %q", hush, coded, c, got)
				}
			}
		}
	})
	if got := New([]string{"abcd"}).Mask(base64.StdEncoding.EncodeToString([]byte("abcd"))); got != "YWJjZA==" {
		t.Errorf("%q", got)
	}
}
