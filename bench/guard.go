package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"

	"tokentape/tape"
)

// recorded is what the cost of an event was when somebody last looked, as a ratio to the
// reference's, and where that was.
type recorded struct {
	At       string  `json:"at"`
	Go       string  `json:"go"`
	CPUModel string  `json:"cpu_model"`
	CPUs     int64   `json:"cpus"`
	Kernel   string  `json:"kernel"`
	CPURatio float64 `json:"cpu_ratio"` // CPU per event ÷ the reference's, ratio of medians; case cpu, whole answers
	Pairs    int     `json:"pairs"`
}

// worse is by how much the ratio may have grown.
const worse = 1.25

// Bounds of a guard's time: on a busy machine it takes fewer pairs.
const (
	guardPairs  = 3 // at least
	guardBudget = 50_000_000_000
)

// judge says whether a ratio is still what was recorded. Three ways to read the same pairs
// must all say worse: processor time is only ever added by what else a machine does, and
// seldom to all of one side.
func (r recorded) judge(now ratio) (value, limit float64, ok bool) {
	value, limit = math.Min(now.OfLeast, math.Min(now.OfMedians, now.Median)), r.CPURatio*worse
	return value, limit, value <= limit
}

// costPairs measures the CPU per event of both clients in turn.
func (b *bench) costPairs() (ratio, error) {
	t := cpuTrial(true, pick[int64](b, 3840, 3840, 128))
	var mine, bare []float64
	begin := b.clk.Now()
	least := pick(b, guardPairs, guardPairs, 1)
	for i := range max(b.pairs, least) {
		if i >= least && b.clk.Now()-begin > guardBudget {
			break
		}
		costs := map[string]float64{}
		names := []string{nameOurs, nameBare}
		if i%2 == 1 {
			slices.Reverse(names)
		}
		for _, name := range names {
			r, err := t.run(name, false)
			if err != nil {
				return ratio{}, err
			}
			costs[name] = r.cpuPerEvent(cpuEvents)
		}
		mine, bare = append(mine, costs[nameOurs]), append(bare, costs[nameBare])
		fmt.Fprintf(b.log, "pair %d: %s ns/event, bare %s: %s times\n", i+1, digits(costs[nameOurs]), digits(costs[nameBare]), digits(costs[nameOurs]/costs[nameBare]))
	}
	return newRatio(mine, bare), nil
}

// guard fails when an event costs more than was recorded at path.
func (b *bench) guard(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("-guard: %w; -record %s makes it", err, path)
	}
	var was recorded
	if err := json.Unmarshal(text, &was); err != nil || !(was.CPURatio > 0) {
		return fmt.Errorf("-guard: %s holds no ratio (%v); -record %s makes it anew", path, err, path)
	}
	now, err := b.costPairs()
	if err != nil {
		return err
	}
	value, limit, ok := was.judge(now)
	said := fmt.Sprintf("CPU per event ÷ the bare client's: %s (of medians %s, median of pairs %s, of least %s), recorded %s on %s, limit %s",
		digits(value), digits(now.OfMedians), digits(now.Median), digits(now.OfLeast), digits(was.CPURatio), was.CPUModel, digits(limit))
	if !ok {
		return fmt.Errorf("%s\nan event costs the client more than it did; go run ./bench -short -only cpu -profile FILE shows where; if it is worth it: go run ./bench -record %s", said, path)
	}
	fmt.Fprintln(b.log, said)
	return nil
}

// record measures the ratio and writes it to path.
func (b *bench) record(path string, host tape.Host) error {
	now, err := b.costPairs()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(recorded{At: b.clk.Wall().Format("2006-01-02"), Go: runtime.Version(), CPUModel: host.CPUModel, CPUs: host.Logical,
		Kernel: host.Kernel, CPURatio: math.Round(now.OfMedians*100) / 100, Pairs: len(now.Pairs)}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
