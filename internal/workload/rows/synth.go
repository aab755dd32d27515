package rows

import "strings"

// Prompts of traces are made of common English words, one for each token: most
// vocabularies hold each of these as one token together with the space before
// it; TestWordsAreTokens says which were tried. How long a prompt is to another
// model, its server's counts say.

// words are 256 common ones, so that a byte chooses.
var words = [256]string(strings.Fields(`
time year people way day man thing woman life child world school state family student group country problem hand part
place case week company system program question work government number night point home water room mother area money story fact
month lot right study book eye job word business issue side kind head house service friend father power hour game line
end member law car city community name president team minute idea kid body information back parent face others level office
door health person art war history party result change morning reason research girl guy moment air teacher force education foot
boy age policy music market sense nation plan college interest death experience effect use class control care field development role
effort rate heart drug show leader light voice wife police mind price report decision son view relationship town road arm
difference value building action season society tax director position player record paper space ground form event official matter center couple
site project activity star table need court oil situation cost industry figure street image phone data picture practice piece land
product doctor wall patient worker news test movie north love support technology step baby computer type attention film tree source
organization hair look window culture chance brother energy period course summer plant opportunity term letter condition choice rule daughter south husband
floor campaign material population call economy hospital church risk fire future bank west sport board subject officer rest behavior performance
fight top goal second bed order author blood agency nature color store sound movement`))

// mix is the finaliser of splitmix64: a bijection that scatters.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// draw appends n words drawn from a seed, each with a space before it.
func draw(b *strings.Builder, seed uint64, n int64) {
	var drawn uint64
	for i := range n {
		if i%8 == 0 {
			drawn = mix(seed + uint64(i))
		}
		b.WriteByte(' ')
		b.WriteString(words[drawn&0xff])
		drawn >>= 8
	}
}

// ofBlocks is the prompt of a row with hash ids, each of block tokens but the last,
// which has last.
// The text of a block follows from the seed and its id; a shorter block is the
// beginning of the whole one.
func ofBlocks(seed int64, ids []int64, block, last int64) string {
	var b strings.Builder
	b.Grow(int(int64(len(ids)-1)*block+last) * 7)
	for i, id := range ids {
		n := block
		if i == len(ids)-1 {
			n = last
		}
		draw(&b, mix(mix(uint64(seed))^uint64(id)), n)
	}
	return b.String()
}

// unique is a prompt of n tokens that no other row shares.
func unique(seed, row, n int64) string {
	var b strings.Builder
	b.Grow(int(n) * 7)
	draw(&b, mix(mix(^uint64(seed))^uint64(row)), n)
	return b.String()
}
