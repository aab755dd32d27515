package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/internal/telemetry"
	"tokentape/tape"
)

// maxPage bounds a metrics page, in bytes: some 100,000 series.
const maxPage = 16 << 20

// scraper reads the metrics pages that the spec names, beside the load and on
// connections of its own, which close ends.
func (j *job) scraper(clk *clock.Clock) (sample run.Sampler, close func()) {
	own, other := j.client(clk), j.otherClient(clk)
	t := j.spec.Telemetry
	var sources []telemetry.Source
	header := map[string]http.Header{}
	for i := range t.Metrics {
		m := &t.Metrics[i]
		sources = append(sources, telemetry.Source{
			Name: m.Name, URL: m.URL, Role: m.Role, Kind: m.Kind, All: m.All, Families: m.Families,
			Interval: cmp.Or(m.Interval, t.Interval).D(),
		})
		header[m.URL] = j.scrapeHeader(m)
	}
	fetch := func(ctx context.Context, src telemetry.Source) (telemetry.Page, error) {
		c := other
		if j.isTarget(src.URL) {
			c = own
		}
		got, err := c.Get(ctx, src.URL, header[src.URL], maxPage)
		if err != nil {
			return telemetry.Page{}, scrapeFailure(err)
		}
		page := telemetry.Page{Status: got.Status, Type: got.Header.Get("Content-Type"), Body: got.Body}
		switch coding := strings.ToLower(strings.TrimSpace(got.Header.Get("Content-Encoding"))); coding {
		case "", "identity", "gzip", "x-gzip", "deflate": // the client has undone them
			return page, nil
		default:
			return page, &telemetry.Failure{Cause: tape.ScrapeCoding, Err: fmt.Errorf("compressed by %q, though identity was asked for", coding)}
		}
	}
	var mask func(string) string
	if hidden := j.secrets(); len(hidden) > 0 {
		mask = secret.New(hidden).Mask
	}
	return func(ctx context.Context, _ func() run.Gauges, emit func(any)) {
			s := telemetry.Scraper{Clock: clk, Fetch: fetch, Mask: mask, Emit: func(s *tape.Scrape) { emit(s) }}
			s.Run(ctx, sources)
		}, func() {
			own.Close()
			other.Close()
		}
}

// scrapeHeader is what a scrape carries: the source's own key and headers, before the
// target's, which go to the target's own hosts alone.
func (j *job) scrapeHeader(m *spec.MetricsSource) http.Header {
	h := j.headerFor(m.URL)
	set := func(name, value string) {
		for have := range h {
			if strings.EqualFold(have, name) {
				delete(h, have)
			}
		}
		h[name] = []string{value} // spelt as the user spelt it
	}
	set("Accept", telemetry.Accept)
	if m.APIKey != "" {
		set("Authorization", "Bearer "+m.APIKey)
	}
	for name, value := range m.Headers {
		set(name, value)
	}
	return h
}

func scrapeFailure(err error) error {
	cause := tape.ScrapeConnect
	switch {
	case errors.Is(err, client.ErrTooLong):
		cause = tape.ScrapeTooLarge
	case client.Classify(err) == client.ClassConnectTimeout:
		cause = tape.ScrapeTimeout
	case client.Classify(err) == client.ClassOther:
		cause = tape.ScrapeBroken
	}
	return &telemetry.Failure{Cause: cause, Err: err}
}

// statedPages is how many metrics pages are named one by one before a run.
const statedPages = 8

// metricsNote says which metrics pages will be read, and how often.
func metricsNote(s *spec.Spec) []string {
	var lines []string
	all := s.Telemetry.Metrics
	for _, m := range all[:min(len(all), statedPages)] {
		role := ""
		if m.Role != "" {
			role = " (" + m.Role + ")"
		}
		lines = append(lines, fmt.Sprintf("%s%s: GET %s every %v", m.Name, role, m.URL, cmp.Or(m.Interval, s.Telemetry.Interval)))
	}
	if n := len(all) - statedPages; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

// metricsList makes the list that --metrics asks for: URL, or NAME=URL.
func metricsList(flags []string) string {
	parts := make([]string, len(flags))
	for i, f := range flags {
		name, url, ok := strings.Cut(f, "=")
		if ok && name != "" && !strings.ContainsAny(name, "/:?@ ") {
			parts[i] = fmt.Sprintf("{name: %s, url: %s}", yamlText(name), yamlText(url))
		} else {
			parts[i] = fmt.Sprintf("{url: %s}", yamlText(f))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// yamlText is a text in double quotes.
func yamlText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
