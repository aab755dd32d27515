package wirecase

import (
	"fmt"
	"math/rand/v2"
)

// Script is a file with how often it is played beside others.
type Script struct {
	File   *File
	Weight float64 // 0: in rotation
}

// Rotation hands out the answers of scripts by number of the request.
type Rotation struct {
	all     []*Answer // in order, for a rotation
	weights []float64
	sets    [][]*Answer
	total   float64
	seed    uint64
}

// NewRotation takes all scripts in rotation, answer after answer, or, when they
// have weights, draws one a request by weight with the seed, and an answer of it.
// Its error says that only some have a weight.
func NewRotation(scripts []Script, seed uint64) (*Rotation, error) {
	r := &Rotation{seed: seed}
	for _, s := range scripts {
		if (s.Weight > 0) != (scripts[0].Weight > 0) || s.Weight < 0 {
			return nil, fmt.Errorf("%s: give all scripts a weight above 0, or none", s.File.Path)
		}
		var set []*Answer
		for _, v := range s.File.Variants {
			for _, a := range v.Answers {
				if a.Refuse {
					return nil, &Error{s.File.Path, a.Line, "a server that is running cannot refuse a connection"}
				}
				for range min(a.Times, 100_000) {
					set = append(set, a)
				}
			}
		}
		r.all = append(r.all, set...)
		r.sets, r.weights, r.total = append(r.sets, set), append(r.weights, s.Weight), r.total+s.Weight
	}
	return r, nil
}

// Answer is the answer to request n, counted from 0.
func (r *Rotation) Answer(n int) *Answer {
	if r.total == 0 {
		return r.all[n%len(r.all)]
	}
	rnd := rand.New(rand.NewPCG(r.seed, uint64(n)+1<<33))
	u := rnd.Float64() * r.total
	for i, w := range r.weights {
		if u < w || i == len(r.weights)-1 {
			return r.sets[i][rnd.IntN(len(r.sets[i]))]
		}
		u -= w
	}
	return nil
}
