package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/workload"
	"tokentape/simserver"
	"tokentape/tape"
)

// Load sends loads to the built-in server by the same client and decoder as a run's.
type Load struct {
	Clock *clock.Clock
	URL   string        // of Serve
	Span  time.Duration // that is measured of each load
	// Dial is the client's; nil: over TCP. Tests hand in memnet.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// spread is the time in which the streams of a load begin, one by one; what they bring
// until settle after that, connections among it, is not measured.
const (
	spread = 200 * time.Millisecond
	settle = 100 * time.Millisecond
)

// Took is how long a load takes, in the mean: for who has only so much time.
func (l *Load) Took() time.Duration { return l.Span + spread + settle + 150*time.Millisecond }

// Try sends so many streams at once, each of rate tokens/s, and returns how far the
// stamps were from the truth. Its error says what went wrong with the load itself.
func (l *Load) Try(ctx context.Context, streams int64, rate float64) (tape.EnvelopePoint, error) {
	p := tape.EnvelopePoint{Streams: streams, Rate: rate}
	events := int64(math.Ceil(rate * (l.Span + spread + settle).Seconds()))
	d, err := dialect.Get("openai-chat")
	if err != nil {
		return p, err
	}
	c := client.New(client.Config{Clock: l.Clock, Dial: l.Dial, MaxIdle: int(streams), Connect: 5 * time.Second})
	defer c.Close()
	x := exchange.New(exchange.Config{
		Client: c, Dialect: d, Clock: l.Clock,
		URL:     fmt.Sprintf("%s%s?rate=%s&events=%d", l.URL, streamPath, strconv.FormatFloat(rate, 'f', -1, 64), events),
		Options: dialect.Options{Model: "doctor", Stream: true},
		Limits:  exchange.Limits{Total: 2*l.Span + 10*time.Second},
	})
	prepared, err := x.Prepare(workload.Item{Messages: []workload.Message{{Role: "user", Content: "how many?"}}, OutputLen: events})
	if err != nil {
		return p, err
	}
	begin := l.Clock.Now()
	got := make([]*tape.Request, streams)
	var wg sync.WaitGroup
	for i := range got {
		q := &tape.Request{ID: fmt.Sprint(i)}
		got[i] = q
		wg.Go(func() {
			if l.Clock.SleepUntil(ctx, begin+int64(spread)*int64(i)/streams) == nil {
				x.Do(ctx, prepared, q)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return p, err
	}
	truths, err := l.truths(ctx, c)
	if err != nil {
		return p, err
	}
	return p, l.compare(&p, begin+int64(spread+settle), got, truths)
}

// truths are what the server wrote, by request id.
func (l *Load) truths(ctx context.Context, c *client.Client) (map[string]*simserver.Truth, error) {
	answer, err := c.Get(ctx, l.URL+truthPath, nil, 1<<30)
	if err != nil {
		return nil, err
	}
	var all []simserver.Truth
	if err := json.Unmarshal(answer.Body, &all); err != nil {
		return nil, fmt.Errorf("the built-in server's truths: %w", err)
	}
	by := make(map[string]*simserver.Truth, len(all))
	for i := range all {
		by[all[i].ID] = &all[i]
	}
	return by, nil
}

// compare fills p with what the events from time t on say.
func (l *Load) compare(p *tape.EnvelopePoint, t int64, got []*tape.Request, truths map[string]*simserver.Truth) error {
	from := l.Clock.Machine(t)
	to := from + int64(l.Span)
	var errs []int64
	for _, q := range got {
		x := truths[q.ID]
		if q.Outcome != tape.OutcomeOK || x == nil {
			return fmt.Errorf("stream %s of %d ended as %s: %s", q.ID, len(got), q.Outcome, q.Message)
		}
		i := 0
		for _, ev := range q.Events.All(q.TWroteFirst.V) {
			if !tape.IsToken(ev.Kind) {
				continue
			}
			if i == len(x.WriteStart) {
				return fmt.Errorf("stream %s brought more events than the %d that were written", q.ID, i)
			}
			if wrote := x.WriteStart[i]; wrote >= from && wrote < to {
				errs = append(errs, l.Clock.Machine(ev.T)-wrote)
			}
			i++
		}
		if i != len(x.WriteStart) {
			return fmt.Errorf("stream %s brought %d events of %d", q.ID, i, len(x.WriteStart))
		}
	}
	if len(errs) == 0 {
		return fmt.Errorf("no event within the %s that are measured", l.Span)
	}
	slices.Sort(errs)
	p.Error = errs[(len(errs)-1)*99/100]
	p.Events = float64(len(errs)) / l.Span.Seconds()
	return nil
}
