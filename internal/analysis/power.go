package analysis

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"tokentape/internal/analysis/window"
)

// Power is the power that the devices drew, by the wall clock.
type Power struct {
	at    []int64   // Unix time in nanoseconds, rising
	watts []float64 // of the same index
}

// Bounds of a power series; beyond them is a mistake.
const (
	maxPowerBytes = 256 << 20
	maxWatts      = 1e9
)

// ReadPower reads a power series: CSV of time,watts, a header line or none. Times
// are RFC 3339 with a zone, or Unix seconds, and rise from line to line; watts are
// those of all devices together. Errors name the line and what mends it.
func ReadPower(r io.Reader) (*Power, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPowerBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxPowerBytes {
		return nil, fmt.Errorf("a power series of more than %d MiB; sample less often", maxPowerBytes>>20)
	}
	c := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	c.FieldsPerRecord, c.TrimLeadingSpace, c.ReuseRecord = -1, true, true
	p := &Power{}
	for first := true; ; first = false {
		rec, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not CSV: %w", err)
		}
		line, _ := c.FieldPos(0)
		if len(rec) != 2 {
			return nil, fmt.Errorf("line %d: %d columns; two are needed, time,watts", line, len(rec))
		}
		t, w := strings.TrimSpace(rec[0]), strings.TrimSpace(rec[1])
		if first && strings.EqualFold(t, "time") {
			if !strings.EqualFold(w, "watts") {
				return nil, fmt.Errorf("line %d: the second column is %q; it must be watts", line, clip(w))
			}
			continue
		}
		if err := p.add(t, w); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if len(p.at) < 2 {
		return nil, fmt.Errorf("%d samples; two are needed to integrate", len(p.at))
	}
	return p, nil
}

// ReadPowerFile is ReadPower of a file; errors begin with its path.
func ReadPowerFile(path string) (*Power, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := ReadPower(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func (p *Power) add(t, w string) error {
	at, err := powerTime(t)
	if err != nil {
		return err
	}
	watts, err := strconv.ParseFloat(w, 64)
	switch {
	case err != nil || math.IsNaN(watts) || math.IsInf(watts, 0):
		return fmt.Errorf("%q is no number of watts", clip(w))
	case watts < 0:
		return fmt.Errorf("%s W is below 0", clip(w))
	case watts > maxWatts:
		return fmt.Errorf("%s W is more than a power station gives; the column is watts", clip(w))
	}
	if n := len(p.at); n > 0 && at <= p.at[n-1] {
		if at == p.at[n-1] {
			return fmt.Errorf("the time %s twice; one line a time, with the watts of all devices added up", clip(t))
		}
		return fmt.Errorf("the time %s comes before that of the line above; sort them", clip(t))
	}
	p.at, p.watts = append(p.at, at), append(p.watts, watts)
	return nil
}

// powerTime reads a moment.
func powerTime(t string) (int64, error) {
	if at, err := time.Parse(time.RFC3339Nano, t); err == nil {
		if y := at.Year(); y < 1990 || y > 2200 {
			return 0, fmt.Errorf("the year %d cannot be that of a run", y)
		}
		return at.UnixNano(), nil
	}
	s, err := strconv.ParseFloat(t, 64)
	switch {
	case err != nil || math.IsNaN(s):
		return 0, fmt.Errorf("%q is no time: RFC 3339 with a zone (2026-11-30T04:00:00Z), or Unix seconds", clip(t))
	case s > 7e9:
		return 0, fmt.Errorf("%s are not Unix seconds; milliseconds ÷ 1000 are", clip(t))
	case s < 6e8:
		return 0, fmt.Errorf("%s are not Unix seconds; a time of day or since the start of the run does not say when", clip(t))
	}
	return int64(math.Round(s * 1e9)), nil
}

// clip bounds what is shown of a cell.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// longestGap is how long a power series may say nothing: a tenth of the window,
// and 5 s in any.
func longestGap(span int64) int64 { return max(span/10, 5e9) }

// meanPower is the mean power in watts over a window, stretch by stretch. What is
// added up is the difference to the first sample, so that a power that never moves
// comes out as it went in.
func (r *run) meanPower(p *Power, w window.Interval) (watts float64, err error) {
	var joules float64
	for _, s := range w.Each() {
		j, err := r.integrateSpan(p, s)
		if err != nil {
			return 0, err
		}
		joules += j
	}
	return p.watts[0] + joules/(float64(w.Length())/1e9), nil
}

// integrateSpan is the energy in joules over a stretch of a window, beyond what the
// power of the first sample would have taken: watts between samples lie on straight
// lines, and the tape's anchor ties the run's clock to the series'. Error: the series
// does not cover the window, or leaves gaps.
func (r *run) integrateSpan(p *Power, w window.Span) (float64, error) {
	anchor, err := time.Parse(time.RFC3339Nano, r.header.Anchor.Wall)
	if err != nil {
		return 0, errors.New("the tape does not say when it began, so that no power series can be laid beside it")
	}
	from, to := anchor.UnixNano()+w.From, anchor.UnixNano()+w.To
	n := len(p.at)
	if p.at[0] > from || p.at[n-1] < to {
		utc := func(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }
		return 0, fmt.Errorf("the power series goes from %s to %s, the window from %s to %s: it is not covered", utc(p.at[0]), utc(p.at[n-1]), utc(from), utc(to))
	}
	var joules float64
	most := longestGap(to - from)
	for i := 1; i < n; i++ {
		a, b := p.at[i-1], p.at[i]
		lo, hi := max(a, from), min(b, to)
		if lo >= hi {
			continue
		}
		if b-a > most {
			return 0, fmt.Errorf("the power series says nothing for %.1f s inside the window", float64(b-a)/1e9)
		}
		at := func(t int64) float64 {
			return p.watts[i-1] - p.watts[0] + (p.watts[i]-p.watts[i-1])*float64(t-a)/float64(b-a)
		}
		joules += (at(lo) + at(hi)) / 2 * float64(hi-lo) / 1e9
	}
	return joules, nil
}
