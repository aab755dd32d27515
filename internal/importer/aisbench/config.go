package aisbench

import (
	"path/filepath"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/tape"
)

// fromConfig: the config that AISBench writes beside a run holds the model as it was
// run.
const fromConfig = "the config beside the run"

// configOf looks the model up, by its abbr, in configs/ of the work folder: the
// newest file that knows it. What cannot be evaluated is passed over: nothing of it
// is needed that cannot be given by hand.
func configOf(src *source) (cap int64, stream tape.Opt[bool]) {
	files, err := filepath.Glob(filepath.Join(globless(filepath.Dir(filepath.Dir(src.dir))), "configs", "*.py"))
	if err != nil {
		return 0, stream
	}
	for _, path := range files { // by name, which begins with the time
		c, err := pyconf.File(path, pyconf.Options{})
		if err != nil {
			continue
		}
		n, b := modelIn(c, filepath.Base(src.dir))
		if n > 0 {
			cap = n
		}
		if b.OK {
			stream = b
		}
	}
	return cap, stream
}

// modelIn is batch_size and stream of the model of that abbr in a config; 0 and absent
// where it does not say.
func modelIn(c *pyconf.Result, abbr string) (cap int64, stream tape.Opt[bool]) {
	models, _ := c.Names.Get("models")
	list, _ := models.Value.([]pyconf.Value)
	for _, m := range list {
		d, ok := m.(*pyconf.Dict)
		if !ok {
			continue
		}
		if f, _ := d.Get("abbr"); f.Value != abbr {
			continue
		}
		if f, _ := d.Get("batch_size"); f.Value != nil {
			if n, ok := f.Value.(int64); ok && n > 0 {
				cap = n
			}
		}
		if f, _ := d.Get("stream"); f.Value != nil {
			if b, ok := f.Value.(bool); ok {
				stream = tape.Some(b)
			}
		}
	}
	return cap, stream
}
