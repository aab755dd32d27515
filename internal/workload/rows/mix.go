package rows

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// Mix is several datasets as one: the items of the first, then those of the
// second, and so on. It is safe for concurrent use.
type Mix struct {
	parts []*Source
	ends  []int64 // of each part: items up to its end
	list  []spec.Part
}

// OpenMix opens the datasets of workload.mix as Open does, each with its own
// template and output length.
func OpenMix(w spec.Workload, seed int64, o Options) (*Mix, error) {
	m := &Mix{list: w.Mix}
	o.Shared = true
	for i, p := range w.Mix {
		part := fmt.Sprintf("workload.mix[%d].", i)
		o.Names = map[string]string{"--dataset or workload.dataset.path": part + "dataset", "workload.dataset.path": part + "dataset"}
		if p.Template != "" {
			o.Names["workload.template"] = part + "template"
		}
		one := w
		one.Mix, one.Dataset.Path = nil, p.Dataset
		one.Template, one.OutputTokens = cmp.Or(p.Template, w.Template), cmp.Or(p.OutputTokens, w.OutputTokens)
		s, err := OpenWith(one, seed, o)
		if err != nil {
			m.Close()
			return nil, err
		}
		m.parts = append(m.parts, s)
		m.ends = append(m.ends, m.Len()+s.Len())
	}
	if err := m.effect(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// effect refuses settings that mean nothing to any of the datasets.
func (m *Mix) effect() (err error) {
	for _, s := range m.parts {
		if err = s.ofOneKind(); err == nil {
			return nil
		}
	}
	return err
}

// Len is the number of items of all datasets.
func (m *Mix) Len() int64 {
	if len(m.ends) == 0 {
		return 0
	}
	return m.ends[len(m.ends)-1]
}

// Lens are the numbers of items, dataset by dataset.
func (m *Mix) Lens() []int64 {
	out := make([]int64, len(m.parts))
	for i, s := range m.parts {
		out[i] = s.Len()
	}
	return out
}

// Item is item i (0 ≤ i < Len). Its Ref says which dataset it is of; its output
// length is the row's own, else that of its dataset in the mix.
func (m *Mix) Item(i int64) (workload.Item, error) {
	var begin int64
	for k, end := range m.ends {
		if i < end {
			item, err := m.parts[k].Item(i - begin)
			if err != nil {
				return item, err
			}
			item.Ref.Data = k
			if item.OutputLen == 0 {
				item.OutputLen = m.list[k].OutputTokens
			}
			return item, nil
		}
		begin = end
	}
	return workload.Item{}, fmt.Errorf("there is no item %d among %d (0 is the first)", i, begin)
}

// Where is Source.Where of item i.
func (m *Mix) Where(i int64) string {
	var begin int64
	for k, end := range m.ends {
		if i < end {
			return m.parts[k].Where(i - begin)
		}
		begin = end
	}
	return ""
}

// Times are none: a mix is no trace.
func (m *Mix) Times() []int64 { return nil }

// Parts are the files, in order.
func (m *Mix) Parts() []dataset.Info {
	out := make([]dataset.Info, len(m.parts))
	for i, s := range m.parts {
		out[i] = s.Info()
	}
	return out
}

// Info describes all files as one; its SHA256 is that of the files' own, in hex
// and in order, one a line.
func (m *Mix) Info() dataset.Info {
	all := dataset.Info{Format: "mix"}
	h := sha256.New()
	var paths []string
	for _, p := range m.Parts() {
		paths = append(paths, p.Path)
		all.Bytes, all.Rows = all.Bytes+p.Bytes, all.Rows+p.Rows
		fmt.Fprintln(h, p.SHA256)
	}
	all.Path, all.SHA256 = strings.Join(paths, ", "), hex.EncodeToString(h.Sum(nil))
	return all
}

// Notes are those of all datasets, each with its file's name.
func (m *Mix) Notes() []string {
	var out []string
	for i, s := range m.parts {
		for _, n := range s.Notes() {
			out = append(out, filepath.Base(m.list[i].Dataset)+": "+n)
		}
	}
	return out
}

// MeanBytes is the mean size of an item's prompt, by the weights of the mix.
func (m *Mix) MeanBytes() int64 {
	var sum, weights float64
	for i, s := range m.parts {
		sum, weights = sum+m.list[i].Weight*float64(s.MeanBytes()), weights+m.list[i].Weight
	}
	return int64(sum / weights)
}

// Longest is that of all datasets, output lengths of the mix included.
func (m *Mix) Longest() (input, output int64) {
	for i, s := range m.parts {
		in, out := s.Longest()
		input, output = max(input, in), max(output, out, m.list[i].OutputTokens)
	}
	return input, output
}

// Close closes all files.
func (m *Mix) Close() error {
	var first error
	for _, s := range m.parts {
		if err := s.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
