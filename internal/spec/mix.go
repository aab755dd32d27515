package spec

import (
	"fmt"
	"math"
	"slices"
)

// maxParts bounds workload.mix.
const maxParts = 100

// mixEffect lists what a mix leaves without effect.
func (s *Spec) mixEffect(idle func(when bool, path, why, mend string)) {
	w := s.Workload
	mixed := len(w.Mix) > 0
	idle(mixed, "workload.dataset.path", "workload.mix names the datasets", "keep one of the two")
	idle(len(w.Mix) < 2, "seeds.mix", "there are no datasets to choose among", "give workload.mix two or more, or remove it")
	templates, outputs := 0, 0
	for i, p := range w.Mix {
		if p.Template != "" {
			templates++
		}
		if p.OutputTokens > 0 {
			outputs++
		}
		whole := w.Dataset.Format == "bodies" || len(w.Body) > 0
		for _, name := range []string{"template", "output_tokens"} {
			idle(whole, fmt.Sprintf("workload.mix[%d].%s", i, name), "whole request bodies are sent", "remove it")
		}
		idle(slices.Contains(ownPrompts, w.Dataset.Format), fmt.Sprintf("workload.mix[%d].template", i), "the rows have prompts of their own (workload.dataset.format: "+w.Dataset.Format+")", "remove it")
	}
	idle(mixed && templates == len(w.Mix), "workload.template", "every dataset of workload.mix has its own", "remove it")
	idle(mixed && outputs == len(w.Mix), "workload.output_tokens", "every dataset of workload.mix has its own", "remove it")
}

// mix checks workload.mix.
func (c *checker) mix() {
	list := c.s.Workload.Mix
	if len(list) == 0 && c.s.given("workload.mix") || len(list) > maxParts {
		c.bad("workload.mix", "[{dataset: chat.jsonl, weight: 3}, {dataset: code.jsonl, weight: 1}]", "%d datasets are not from 1 to %d", len(list), maxParts)
		return
	}
	for i, p := range list {
		path := fmt.Sprintf("workload.mix[%d]", i)
		if p.Dataset == "" {
			c.bad(path, "dataset: FILE", "names no dataset")
		}
		if !(p.Weight > 0) || math.IsInf(p.Weight, 0) {
			c.bad(path+".weight", "above 0; 1 when left out", "%v is no weight", p.Weight)
		}
		if p.OutputTokens < 0 || p.OutputTokens > math.MaxInt32 {
			c.bad(path+".output_tokens", "1 or more", "%d is out of range", p.OutputTokens)
		}
	}
	if len(list) > 0 && c.s.Load.Arrivals == "replay" {
		c.bad("workload.mix", "one dataset, or another load.arrivals", "load.arrivals replay takes the times of one trace")
	}
}
