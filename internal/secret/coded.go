package secret

import (
	"encoding/base64"
	hexadecimal "encoding/hex"
	"strings"
)

// codings are what of a secret stays the same in any text that holds it and is coded as
// a whole: in base64 by where it stands in a group of three bytes, in both alphabets,
// and in hexadecimal. Of a short secret too little would stay.
func codings(text string) []string {
	if len(text) < tightLen {
		return nil
	}
	var out []string
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + text
		// The first character holds bits of what stands before, the last of what follows.
		from, to := (before*8+5)/6, len(padded)*8/6
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, coding.EncodeToString([]byte(padded))[from:to])
		}
	}
	low := hexadecimal.EncodeToString([]byte(text))
	return append(out, low, strings.ToUpper(low))
}
