package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tokentape/internal/clock"
	"tokentape/tape"
)

// Source is a server's metrics page.
type Source struct {
	Name     string // as the tape names it
	URL      string
	Role     string // as the tape has it; "": not said
	Kind     string // one of the kinds; "" or "auto": by the names on the page
	Interval time.Duration
	All      bool     // keep every series
	Families []string // globs of families to keep beside the known ones
}

// Page is an answer to a GET of a source.
type Page struct {
	Status int
	Type   string // Content-Type
	Body   []byte
}

// Failure is an error of a Fetch that knows its class, one of tape's ScrapeConnect
// and its kin.
type Failure struct {
	Cause string
	Err   error
}

// Error is the message of what failed.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap is what failed.
func (f *Failure) Unwrap() error { return f.Err }

// Fetch gets a source's page. It must obey its context, which ends after 10 s, bound
// what it reads, and use connections of its own. A status is not judged; an error that
// is no *Failure counts as one of the connection.
type Fetch func(ctx context.Context, src Source) (Page, error)

// Accept is what a scrape asks for: the text format of Prometheus, or that of
// OpenMetrics, which is understood too.
const Accept = "text/plain;version=0.0.4;charset=utf-8, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1"

const (
	maxError  = 300            // bytes of an error that goes on the tape
	getLimit  = 10_000_000_000 // ns that a get may take: a silent server is a failed scrape, not a gap
	lastLimit = 1_000_000_000  // the last one, which the end of the run waits for
	lastGap   = 10_000_000     // between the one before it and the last one, at least
)

// Scraper reads metrics pages beside a load.
type Scraper struct {
	Clock *clock.Clock
	Fetch Fetch
	// Emit is called for one record at a time, from several goroutines.
	Emit func(*tape.Scrape)
	// Mask takes secrets out of errors and names of series; nil: there are none.
	Mask func(string) string

	emitting sync.Mutex
}

// Run reads every source at once, then once an interval, each on absolute deadlines of
// its own, which are spread over the interval so that the pages are not understood all
// at one moment; and once more when ctx is done, so that what was counted until then is
// on the tape. It returns when the last get has ended, 1 s after ctx at the latest. One
// source never has two gets at the same time: where one takes longer than the interval,
// the ticks it covers are left out and counted. A get that the end of ctx cuts short is
// not recorded.
func (s *Scraper) Run(ctx context.Context, sources []Source) {
	start := s.Clock.Now()
	var all sync.WaitGroup
	for i, src := range sources {
		all.Go(func() {
			f := follower{Scraper: s, src: src, page: newPage(src, s.Mask)}
			f.run(ctx, start, int64(src.Interval)*int64(i)/int64(len(sources)))
		})
	}
	all.Wait()
}

// follower reads one source.
type follower struct {
	*Scraper
	src    Source
	page   *page
	missed int64 // ticks since the record before
	last   int64 // when the last get on the tape began
}

func (f *follower) run(ctx context.Context, start, offset int64) {
	if ctx.Err() != nil {
		return
	}
	period := int64(f.src.Interval)
	f.read(ctx, getLimit)
	next := start + offset + period
	if now := f.Clock.Now(); now >= next { // the first one took as long
		f.skip(&next, now, period)
	}
	for f.sleepUntil(ctx, next) {
		f.read(ctx, getLimit)
		now := f.Clock.Now()
		if ctx.Err() != nil {
			now-- // the tick of this moment has the last reading
		}
		if next += period; now >= next {
			f.skip(&next, now, period)
		}
	}
	if f.Clock.Now()-f.last >= min(period/10, lastGap) {
		f.read(context.WithoutCancel(ctx), lastLimit)
	}
}

// skip moves next, which has passed, behind now, and counts what it passes over.
func (f *follower) skip(next *int64, now, period int64) {
	n := (now-*next)/period + 1
	*next += n * period
	f.missed += n
}

// sleepUntil reports whether t came before the end of ctx. A scrape may be some
// milliseconds late: it does not use the precise sleep, which costs processor time.
func (f *follower) sleepUntil(ctx context.Context, t int64) bool {
	came := make(chan struct{})
	timer := f.Clock.AfterFunc(t-f.Clock.Now(), func() { close(came) })
	defer timer.Stop()
	select {
	case <-came:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// read makes one record, unless the end of ctx cut it short.
func (f *follower) read(ctx context.Context, limit int64) {
	get, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := fmt.Errorf("no whole answer within %v", time.Duration(limit))
	defer f.Clock.AfterFunc(limit, func() { cancel(late) }).Stop()

	out := &tape.Scrape{T: f.Clock.Now(), Source: f.src.Name}
	got, err := f.Fetch(get, f.src)
	there := f.Clock.Now()
	if ctx.Err() != nil {
		f.missed++
		return
	}
	out.Took, out.Status = tape.Some(there-out.T), got.Status
	if err == nil || len(got.Body) > 0 {
		out.Bytes = tape.Some(int64(len(got.Body)))
	}
	out.Missed, f.missed, f.last = f.missed, 0, out.T
	var known *Failure
	switch {
	case context.Cause(get) == late:
		out.Cause, out.Error = tape.ScrapeTimeout, late.Error()
	case errors.As(err, &known):
		out.Cause, out.Error = known.Cause, f.clean(err.Error())
	case err != nil:
		out.Cause, out.Error = tape.ScrapeConnect, f.clean(err.Error())
	case got.Status == 401 || got.Status == 403:
		out.Cause, out.Error = tape.ScrapeAuth, f.refusal(got)
	case got.Status != 200:
		out.Cause, out.Error = tape.ScrapeStatus, f.refusal(got)
	default:
		f.understand(out, got)
		out.Parse = tape.Some(f.Clock.Now() - there)
	}
	f.emitting.Lock()
	defer f.emitting.Unlock()
	f.Emit(out)
}

// understand reads the page into out.
func (f *follower) understand(out *tape.Scrape, got Page) {
	err := f.page.read(got.Body, strings.HasPrefix(strings.ToLower(got.Type), "application/openmetrics-text"))
	if err == nil {
		out.OK = true
		f.page.write(out, f.src.Role)
		return
	}
	out.Cause, out.Error = tape.ScrapeBroken, err.Error()
	if err == errEmpty {
		out.Cause = tape.ScrapeEmpty
	}
	var bad *badLine
	if errors.As(err, &bad) {
		out.Error += ": " + f.begins(bad.text)
	}
	if got.Type != "" && !strings.HasPrefix(got.Type, "text/plain") {
		out.Error += ", Content-Type " + f.clean(got.Type)
	}
	out.Error = bounded(out.Error)
}

// refusal is a status and how its body begins.
func (f *follower) refusal(got Page) string {
	text := fmt.Sprintf("status %d", got.Status)
	if body := strings.TrimSpace(string(got.Body[:min(len(got.Body), mostMasked)])); body != "" {
		text += ": " + f.begins([]byte(body))
	}
	return bounded(text)
}

// mostMasked bounds what is looked through for secrets before it is cut.
const mostMasked = 4096

// begins quotes the first 80 bytes of a text.
func (f *follower) begins(text []byte) string {
	shown := f.hide(string(text[:min(len(text), mostMasked)]))
	if len(shown) > 80 {
		shown = strings.ToValidUTF8(shown[:80], "")
		return fmt.Sprintf("%q…", shown)
	}
	return fmt.Sprintf("%q", shown)
}

func (f *follower) hide(text string) string {
	if f.Mask == nil {
		return text
	}
	return f.Mask(text)
}

func (f *follower) clean(text string) string { return bounded(f.hide(text)) }

func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxError {
		return s
	}
	return strings.ToValidUTF8(s[:maxError], "") + "…"
}
