package sim

import "strings"

// The vocabulary of answers: 128 words of one token each, so that an index costs
// seven bits of a hash and no answer needs JSON escaping.
const vocabulary = `the of and to in is that it was for on are as with his they at be this from have or by
one had not but what all were when we can said use each she how up out if who do its
time then them make like him into has look two more day go see no way find come made may
part down get over new take only work know year live me back give most very name good
say man help low line same mean tone turn hand high such here why ask went men read need
land home us move try kind off play air away page soon real left late run did big far
ship city tree farm cold keep hot own`

type token struct {
	text string
	id   uint64
}

var (
	words      [128]token // with a leading space
	firstWords [128]token // without
)

func init() {
	i := 0
	for _, w := range strings.Fields(vocabulary) {
		if i == len(words) || CountTokens(w) != 1 {
			continue // five letters are two tokens
		}
		words[i] = token{" " + w, textID(" " + w)}
		firstWords[i] = token{w, textID(w)}
		i++
	}
	if i < len(words) {
		panic("sim: vocabulary too small")
	}
}

func outputToken(seed uint64, i int64) *token {
	w := mix(seed+uint64(i)*0x9e3779b97f4a7c15) >> 57
	if i == 0 {
		return &firstWords[w]
	}
	return &words[w]
}
