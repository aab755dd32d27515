package html

import (
	"math"
)

// Column describes one column of the binary part of a Document. A value v is stored
// as an unsigned integer u: 0 where it is absent, else 1 + zigzag(v·Per), of Delta
// columns the difference to the last value that is there. The integers lie in planes:
// the low bytes of all rows, then the next bytes, so that a compressor and a reader
// both meet like beside like.
type Column struct {
	Name   string `json:"name"`
	Per    int64  `json:"per"` // stored units in one unit of the value
	Delta  bool   `json:"delta,omitempty"`
	Base   string `json:"base,omitempty"` // the column before, whose values these are differences to, where it has one
	Planes int    `json:"planes"`
	Rows   int    `json:"rows"`
	// Words are what the values are indexes into, of a column of words.
	Words []string `json:"words,omitempty"`
}

// absentValue marks an absent value of a column.
const absentValue = math.MinInt64

// packer gathers columns.
type packer struct {
	columns []Column
	bytes   []byte
}

// add packs a column; one in which no value is there is left out. base are the values
// of the column that c names so.
func (p *packer) add(c Column, values, base []int64) (held bool) {
	some := false
	u := make([]uint64, len(values))
	var last int64
	var top uint64
	for i, v := range values {
		if v == absentValue {
			continue
		}
		some = true
		d := v
		switch {
		case c.Delta:
			d, last = v-last, v
		case c.Base != "" && base[i] != absentValue:
			d -= base[i]
		}
		u[i] = uint64(d)<<1 ^ uint64(d>>63)
		u[i]++
		top = max(top, u[i])
	}
	if !some {
		return false
	}
	for c.Planes = 1; c.Planes < 8 && top>>(8*c.Planes) > 0; c.Planes++ {
	}
	c.Rows = len(values)
	for k := range c.Planes {
		for _, x := range u {
			p.bytes = append(p.bytes, byte(x>>(8*k)))
		}
	}
	p.columns = append(p.columns, c)
	return true
}

// mostStored bounds what a column holds: beyond it a reader's floating-point numbers
// are no longer exact.
const mostStored = 1 << 51

// scaled is a value in units of 1/per; absent where there is none, or where it is
// beyond what a page can show.
func scaled(v *float64, per int64) int64 {
	if v == nil {
		return absentValue
	}
	x := math.Round(*v * float64(per))
	if !(x > -mostStored && x < mostStored) {
		return absentValue
	}
	return int64(x)
}

func whole(n *int64) int64 {
	if n == nil || *n <= -mostStored || *n >= mostStored {
		return absentValue
	}
	return *n
}

// words numbers texts in the order in which they come.
type words struct {
	list []string
	at   map[string]int64
	most int // how many there may be; 0: any number
}

// of is the number of a text; absent for "" and for what there is no room for.
func (w *words) of(s string) int64 {
	if s == "" {
		return absentValue
	}
	if i, ok := w.at[s]; ok {
		return i
	}
	if w.most > 0 && len(w.list) >= w.most {
		return absentValue
	}
	if w.at == nil {
		w.at = map[string]int64{}
	}
	i := int64(len(w.list))
	w.list, w.at[s] = append(w.list, s), i
	return i
}
