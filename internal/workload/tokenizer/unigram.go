package tokenizer

import "unicode/utf8"

// unigram takes the segmentation of the highest total score (Viterbi).
type unigram struct {
	*vocab
	trie  *trie
	score []float64 // of ids
	// unkScore is the score of a character without an entry: the lowest of all
	// minus 10.
	unkScore float64
	unk      int32
	fallback [256]int32 // ids of byte tokens; -1: none
	// single: totals are kept in single precision, as SentencePiece does; the
	// other reference keeps them in double, and ties break differently.
	single bool
	// unkEntry: a run of unknown characters that is itself an entry becomes that
	// entry. tokenizer.json's reference looks it up again.
	unkEntry bool
}

// pathNode is the best way to a byte of the piece.
type pathNode struct {
	score float64
	id    int32
	from  int32 // -1: not reached
}

func (m *unigram) round(x float64) float64 {
	if m.single {
		return float64(float32(x))
	}
	return x
}

func (m *unigram) encode(r *encoding, s string) {
	path := r.path[:0]
	for range len(s) + 1 {
		path = append(path, pathNode{from: -1})
	}
	r.path = path
	reach := func(from, to int, id int32, score float64) {
		total := score + path[from].score
		if n := &path[to]; n.from < 0 || total > n.score {
			*n = pathNode{m.round(total), id, int32(from)}
		}
	}
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		node, single := uint64(0), false
		for j := i; j < len(s); j++ {
			to, ok := m.trie.step(node, s[j])
			if !ok {
				break
			}
			if node = to; m.trie.value[node] >= 0 {
				id := m.trie.value[node]
				reach(i, j+1, id, m.score[id])
				single = single || j+1-i == size
			}
		}
		if !single {
			reach(i, i+size, m.unk, m.unkScore)
		}
		i += size
	}
	// The path backwards, then turned around.
	first := len(r.ids)
	spans := r.revs[:0]
	for end := len(s); end > 0; {
		n := path[end]
		if last := len(spans) - 1; n.id == m.unk && last >= 0 && r.ids[len(r.ids)-1] == m.unk {
			spans[last].a = int(n.from) // runs of unknown characters are one
		} else {
			r.ids = append(r.ids, n.id)
			spans = append(spans, span{int(n.from), end})
		}
		end = int(n.from)
	}
	ids := r.ids[first:]
	back := r.back[:0]
	for i := len(ids) - 1; i >= 0; i-- {
		back = append(back, ids[i])
	}
	r.ids, r.back = r.ids[:first], back
	for k, id := range back {
		p := spans[len(spans)-1-k]
		if id == m.unk {
			m.unknown(r, s, p)
		} else {
			r.emit(id, p.a, p.b)
		}
	}
	r.revs = spans
}

func (m *unigram) unknown(r *encoding, s string, p span) {
	if m.unkEntry {
		if id, ok := m.ids[s[p.a:p.b]]; ok {
			r.emit(id, p.a, p.b)
			return
		}
	}
	for i := p.a; i < p.b; i++ {
		if m.fallback[s[i]] < 0 {
			r.emit(m.unk, p.a, p.b)
			return
		}
	}
	for i := p.a; i < p.b; i++ {
		r.emit(m.fallback[s[i]], i, i+1)
	}
}
