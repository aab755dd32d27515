package main

import "fmt"

const cpuEvents = 256

// cpu is what an event costs when nothing else holds the client up: 64 in flight, 256
// events each, no delay. "whole" answers come in one piece, so that reading is cheap and
// understanding is what costs; of "events" each is a write of its own, and so mostly a
// read of its own.
func (b *bench) cpu() error {
	t := table{Name: "cpu", Title: fmt.Sprintf("no delay, 64 in flight, %d events each", cpuEvents),
		Columns: columns("answers|answers", "client|client", "events_per_s|events/s", "events_per_s_ratio|÷ bare", "cpu_ns|CPU ns/event", "cpu_ratio|÷ bare", "cpu_ratio_pairs|median of pairs", "cpu_ratio_each|each pair", "server_cores|server cores"),
		Notes:   []string{"÷ bare: ratio of the medians of runs that took turns"}}
	defer b.keepTable(&t)
	for _, whole := range []bool{true, false} {
		name := map[bool]string{true: "whole", false: "events"}[whole]
		requests := pick[int64](b, 15360, 3840, 128)
		if !whole {
			requests /= 4
		}
		all, err := b.take("cpu "+name, b.pairs, cpuTrial(whole, requests), false)
		if err != nil {
			return err
		}
		rate := func(r result) float64 { return r.eventsPerSecond(cpuEvents) }
		cost := func(r result) float64 { return r.cpuPerEvent(cpuEvents) }
		for _, client := range b.names(all) {
			costs := newRatio(all[client].figures(cost), all[nameBare].figures(cost))
			rates := newRatio(all[client].figures(rate), all[nameBare].figures(rate))
			row := record{"answers": name, "client": client, "events_per_s": all[client].median(rate), "cpu_ns": all[client].median(cost),
				"server_cores": all[client].median(func(r result) float64 { return float64(r.Served.CPU) / float64(r.Served.Last-r.Served.First) })}
			if client != nameBare {
				row["events_per_s_ratio"], row["cpu_ratio"], row["cpu_ratio_pairs"], row["cpu_ratio_each"] = rates, costs, costs.Median, list(costs.Pairs)
			}
			t.Rows = append(t.Rows, row)
			if client == nameOurs {
				b.cpuGoals(whole, costs, rates)
			}
		}
	}
	return nil
}

// cpuGoals: what an event costs is judged in both rows, events/s where events are writes
// of their own, as a server sends them. A client that parses answers which come whole has
// nothing to wait for: there events/s says again what the cost says.
func (b *bench) cpuGoals(whole bool, costs, rates ratio) {
	if whole {
		b.goals = append(b.goals, goal{Case: "cpu", Text: "CPU per event ÷ the reference's, recording on, answers in one piece", Value: costs.OfMedians, Limit: 2.0})
		return
	}
	b.goals = append(b.goals,
		goal{Case: "cpu", Text: "CPU per event ÷ the reference's, recording on, a write an event", Value: costs.OfMedians, Limit: 2.0},
		goal{Case: "cpu", Text: "events/s ÷ the reference's, a write an event", Value: rates.OfMedians, Limit: 0.80, Least: true})
}

func cpuTrial(whole bool, requests int64) trial {
	return trial{
		serve: serving{Events: cpuEvents, Whole: whole},
		load:  load{Requests: requests, Concurrency: 64, Events: cpuEvents},
	}
}

// list is numbers as text.
func list(values []float64) (s string) {
	for i, v := range values {
		if i > 0 {
			s += " "
		}
		s += digits(v)
	}
	return s
}
