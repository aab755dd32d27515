package main

import "fmt"

// pace is how late requests are that are due at a constant distance: from the due time to
// the return of the write that carried the first byte, connection set-up left out. Answers
// are one token, at once.
func (b *bench) pace() error {
	t := table{Name: "pace", Title: "open loop, answers of one token at once; lag from due to the first byte written, ms",
		Columns: columns("rate|requests/s", "client|client", "achieved|achieved", "p50|lag p50", "p99|lag p99", "p99_ratio|÷ bare", "max|lag max", "slow|slow share", "p99_at_speed|lag p99 at speed", "pacer|pacer's cores", "cores|client's cores"),
		Notes: []string{"medians over the pairs; ÷ bare: median of the pairs' ratios; the reference paces by a plain timer and sleeps in turn with its sends, over connections that are capped at three quarters of the descriptors", "achieved below the rate: beyond that client on this machine",
			"slow share: of the time from the first request to the last answer, in which a watch in another process saw the machine at under half of its speed",
			"at speed: of the requests due outside of such stretches, of 2 ms before and of 50 ms after them"}}
	defer b.keepTable(&t)
	type step struct{ rate, seconds float64 }
	steps := pick(b, []step{{100, 5}, {1000, 5}, {5000, 4}, {20_000, 3}}, []step{{1000, 3}, {5000, 2}}, []step{{200, 0.2}})
	for _, s := range steps {
		requests := int64(s.rate * s.seconds)
		all, err := b.take(fmt.Sprintf("pace %g", s.rate), min(b.pairs, 3), trial{
			serve: serving{Events: 1, Whole: true},
			load:  load{Requests: requests, Rate: s.rate, Events: 1, Lags: true, Dues: true},
			watch: true,
		}, false)
		if err != nil {
			return err
		}
		for _, client := range b.names(all) {
			b.paceRow(&t, s.rate, requests, client, all)
		}
		if apart := mostApart(all); apart > blind {
			t.Notes = append(t.Notes, fmt.Sprintf("at %s requests/s the watch was kept from looking for up to %.0f ms: the machine has other work, and slow share can be too small", thousands(int64(s.rate)), float64(apart)/1e6))
		}
	}
	return nil
}

func (b *bench) paceRow(t *table, rate float64, requests int64, client string, all map[string]runs) {
	took := func(r result) float64 { return float64(r.Served.Last - r.Served.First) }
	mine := all[client]
	row := record{"rate": rate, "client": client,
		"achieved": mine.median(func(r result) float64 { return float64(requests-1) / (took(r) / 1e9) }),
		"cores":    mine.median(func(r result) float64 { return float64(r.Sent.CPU) / took(r) })}
	row["slow"] = mine.median(result.slow)
	t.Rows = append(t.Rows, row)
	if mine[0].Sent.Lag == nil { // another client, whose lag nobody sees
		return
	}
	p99 := func(r result) float64 { return float64(r.Sent.Lag.P99) / 1e6 }
	row["p50"] = mine.median(func(r result) float64 { return float64(r.Sent.Lag.P50) / 1e6 })
	row["p99"] = mine.median(p99)
	row["max"] = mine.median(func(r result) float64 { return float64(r.Sent.Lag.Max) / 1e6 })
	atSpeed := mine.median(result.p99AtSpeed)
	row["p99_at_speed"] = atSpeed
	if client != nameOurs {
		return
	}
	row["p99_ratio"] = newRatio(mine.figures(p99), all[nameBare].figures(p99)).Median
	text := thousands(int64(rate)) + " requests/s"
	pacer := mine.median(func(r result) float64 { return r.Sent.PacerCores })
	if pacer > 0 {
		row["pacer"] = pacer
	}
	if limit := map[float64]float64{1000: 0.5, 5000: 2}[rate]; limit > 0 {
		b.goals = append(b.goals, goal{Case: "pace", Text: "pacer lag p99 at " + text, Value: mine.median(p99), Limit: limit, Unit: "ms"})
		share := mine.median(func(r result) float64 { return r.AtSpeed })
		b.goals = append(b.goals, goal{Case: "pace", Text: fmt.Sprintf("pacer lag p99 at %s, requests due while the machine ran at its speed (%.0f %% of them)", text, 100*share), Value: atSpeed, Limit: limit, Unit: "ms"})
		g := goal{Case: "pace", Text: "the pacer's own cores at " + text, Value: pacer, Limit: 0.25}
		if pacer == 0 {
			g.Value = over(0, 0)
		}
		b.goals = append(b.goals, g)
	}
}
