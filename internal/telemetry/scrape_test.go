package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tokentape/internal/clock"
	"tokentape/tape"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// One source answers, one fails, one is slower than the interval, one never
// answers: none of them changes what the tape gets from another. Ticks without a
// reading are counted, and the end of the load is read once more.
func TestScrapeSourcesAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		clk := clock.New()
		var slow atomic.Int32
		fetch := func(ctx context.Context, src Source) (Page, error) {
			wait := time.Duration(0)
			switch src.URL {
			case "bad":
				return Page{}, errors.New("connection refused " + strings.Repeat("é", 400))
			case "slow":
				if slow.Add(1) > 1 {
					t.Error("two gets of one source at the same time")
				}
				defer slow.Add(-1)
				wait = 2500 * time.Millisecond
			case "dead":
				wait = time.Hour
			}
			tm := time.NewTimer(wait)
			defer tm.Stop()
			select {
			case <-tm.C:
				return Page{Status: 200, Body: fmt.Appendf(nil, "up %d\n", clk.Now()/1e6)}, nil
			case <-ctx.Done():
				return Page{}, context.Cause(ctx)
			}
		}
		clk.AfterFunc(int64(13500*time.Millisecond), cancel)
		at, missed := map[string][]int64{}, map[string]int64{}
		var sources []Source
		for _, name := range []string{"good", "bad", "slow", "dead"} {
			sources = append(sources, Source{Name: name, URL: name, Interval: time.Second, All: true, Role: "node"})
		}
		s := Scraper{Clock: clk, Fetch: fetch, Emit: func(s *tape.Scrape) {
			at[s.Source] = append(at[s.Source], s.T/1e6)
			missed[s.Source] += s.Missed
			switch s.Source {
			case "good":
				if !s.OK || s.Series["up"] != float64(s.T/1e6) || s.Took != tape.Some(int64(0)) || !s.Parse.OK || !s.Bytes.OK || s.Status != 200 {
					t.Errorf("%+v", s)
				}
			case "slow":
				if s.T < 13e9 && (!s.OK || s.Series["up"] != float64(s.T/1e6+2500) || s.Took != tape.Some(int64(2500e6))) {
					t.Errorf("%+v", s)
				}
				if s.T >= 13e9 && (s.OK || s.Error != "no whole answer within 1s" || s.Cause != tape.ScrapeTimeout) {
					t.Errorf("%+v", s)
				}
			case "bad":
				if s.OK || s.Series != nil || len(s.Error) > maxError+3 || !utf8.ValidString(s.Error) || !strings.Contains(s.Error, "refused") || s.Cause != tape.ScrapeConnect {
					t.Errorf("%+v", s)
				}
			case "dead":
				if s.OK || s.T < 13e9 && s.Error != "no whole answer within 10s" || s.Cause != tape.ScrapeTimeout || s.Bytes.OK {
					t.Errorf("%+v", s)
				}
			}
		}}
		s.Run(ctx, sources)
		if now := clk.Now(); now != 14500e6 {
			t.Errorf("ended at %d ms", now/1e6)
		}
		good, bad := []int64{0}, []int64{0}
		for ms := int64(1000); ms <= 13000; ms += 1000 {
			good, bad = append(good, ms), append(bad, ms+250)
		}
		want := map[string][]int64{
			"good": append(good, 13500), "bad": append(bad, 13500),
			// On the grid of …,500: what a get covers is left out, and the one that the end cut short is not there.
			"slow": {0, 3500, 6500, 9500, 13500}, "dead": {0, 13500},
		}
		want["bad"] = append(bad, 13500)
		if d := cmp.Diff(want, at); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(map[string]int64{"good": 0, "bad": 0, "slow": 9, "dead": 12}, missed); d != "" {
			t.Error(d)
		}
	})
}

// What a page that cannot be used was is on the tape as a class and for people, and no
// secret of it is.
func TestScrapeFailures(t *testing.T) {
	const hush = "h4sh-me"
	for _, c := range []struct {
		name       string
		page       Page
		err        error
		cause, say string
	}{
		{"auth", Page{Status: 401, Body: []byte(`{"error":"no ` + hush + `"}`)}, nil, tape.ScrapeAuth, `status 401: "{\"error\":\"no ***\"}"`},
		{"forbidden", Page{Status: 403}, nil, tape.ScrapeAuth, "status 403"},
		{"redirect", Page{Status: 302}, nil, tape.ScrapeStatus, "status 302"},
		{"broken", Page{Status: 200, Type: "text/html", Body: []byte("a 1\n<html " + hush + strings.Repeat("x", 500))}, nil, tape.ScrapeBroken, `line 2: no metric name at its begin: "<html ***xxx`},
		{"empty", Page{Status: 200}, nil, tape.ScrapeEmpty, "no series"},
		{"protobuf", Page{Status: 200, Type: "application/vnd.google.protobuf", Body: []byte("\x0a\x07")}, nil, tape.ScrapeBroken, "Content-Type application/vnd.google.protobuf"},
		{"large", Page{Status: 200}, &Failure{tape.ScrapeTooLarge, errors.New("longer than " + hush)}, tape.ScrapeTooLarge, "longer than ***"},
		{"reset", Page{}, errors.New("reset"), tape.ScrapeConnect, "reset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				clk := clock.New()
				clk.AfterFunc(1, cancel)
				var got []*tape.Scrape
				s := Scraper{Clock: clk, Emit: func(s *tape.Scrape) { got = append(got, s) },
					Fetch: func(context.Context, Source) (Page, error) { return c.page, c.err },
					Mask:  func(text string) string { return strings.ReplaceAll(text, hush, "***") }}
				s.Run(ctx, []Source{{Name: "a", Interval: time.Second}})
				if len(got) != 1 || got[0].OK || got[0].Cause != c.cause || !strings.Contains(got[0].Error, c.say) ||
					strings.Contains(got[0].Error, hush) || len(got[0].Error) > maxError+3 || got[0].Status != c.page.Status {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// A secret in a label does not reach the tape.
func TestSecretInLabel(t *testing.T) {
	p := newPage(Source{All: true}, func(text string) string { return strings.ReplaceAll(text, "h4sh", "***") })
	out := new(tape.Scrape)
	if err := p.read([]byte("a{k=\"h4sh\"} 1\n"), false); err != nil {
		t.Fatal(err)
	}
	if p.write(out, ""); out.Series[`a{k="***"}`] != 1 || len(out.Series) != 1 {
		t.Errorf("%+v", out)
	}
}
