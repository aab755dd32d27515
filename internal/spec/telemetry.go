package spec

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// familyPattern is a name of the text formats with * for any text.
var familyPattern = regexp.MustCompile(`^[^\s{}",#]+$`)

func (c *checker) telemetry() {
	t := c.s.Telemetry
	c.interval("telemetry.interval", t.Interval)
	for i := range t.Metrics {
		c.metrics(fmt.Sprintf("telemetry.metrics[%d]", i), i)
	}
}

func (c *checker) interval(path string, d Duration) {
	c.duration(path, d)
	if d >= 0 && d < minInterval {
		c.bad(path, "10ms or more; 1s when left out", "%s is too often to leave the load alone", d)
	}
}

// metrics checks one page to scrape.
func (c *checker) metrics(path string, i int) {
	m := &c.s.Telemetry.Metrics[i]
	if m.URL == "" {
		c.bad(path, "url: http://HOST:PORT/metrics", "no url")
	} else if _, _, err := metricsURL(m.URL); err != nil {
		message, hint, _ := strings.Cut(err.Error(), "; ")
		c.bad(path+".url", hint, "%s", message)
	}
	if m.Name != "" && !sourcePattern.MatchString(m.Name) {
		c.bad(path+".name", "a short name without spaces", "%q cannot be a source's name", clip(m.Name))
	}
	for j, other := range c.s.Telemetry.Metrics[:i] {
		if m.URL != "" && other.URL == m.URL {
			c.bad(path+".url", "keep one", "the same endpoint as telemetry.metrics[%d]", j)
		} else if m.Name != "" && other.Name == m.Name {
			c.bad(path+".name", "names tell sources apart", "the same name as telemetry.metrics[%d]", j)
		}
	}
	for _, f := range []struct{ key, value string }{{"role", m.Role}, {"kind", m.Kind}} {
		if all := choices()["telemetry.metrics."+f.key]; f.value != "" && !slices.Contains(all, f.value) {
			message, hint := unknownChoice(f.value, all)
			c.bad(path+"."+f.key, hint, "%s", message)
		}
	}
	if m.Interval != 0 {
		c.interval(path+".interval", m.Interval)
	}
	c.apiKey(path+".api_key", m.APIKey)
	if seen := c.headers(path+".headers.", m.Headers); m.APIKey != "" && seen["authorization"] != "" {
		c.bad(path+".api_key", "keep one", "%s.headers.%s sends the same header", path, seen["authorization"])
	}
	for k, f := range m.Families {
		if !familyPattern.MatchString(f) {
			c.bad(fmt.Sprintf("%s.families[%d]", path, k), `the name of a family, * for any text: "vllm:*"`, "%q cannot be the name of a family", clip(f))
		}
	}
	if m.All && len(m.Families) > 0 {
		c.bad(path+".families", "keep one of the two", "no effect: all keeps every family")
	}
}

// resolveMetrics makes the endpoints' URLs whole, gives the nameless the name of their
// host.
func (s *Spec) resolveMetrics() {
	for i := range s.Telemetry.Metrics {
		m := &s.Telemetry.Metrics[i]
		if full, u, err := metricsURL(m.URL); err == nil {
			m.URL = full
			m.Name = cmp.Or(m.Name, u.Host)
		}
	}
}

// metricsURL is the address of a Prometheus endpoint as it is fetched: http
// assumed, /metrics when no path is given.
func metricsURL(raw string) (string, *url.URL, error) {
	bare, query, hasQuery := strings.Cut(raw, "?")
	u, _, err := parseServer(bare)
	if err != nil {
		return "", nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	if hasQuery {
		u.RawQuery = query
	}
	return u.String(), u, nil
}

// clone shares nothing with m.
func (m MetricsSource) clone() MetricsSource {
	m.Families = slices.Clone(m.Families)
	if m.Headers != nil {
		headers := make(map[string]string, len(m.Headers))
		for k, v := range m.Headers {
			headers[k] = v
		}
		m.Headers = headers
	}
	return m
}

// flow writes m on one line.
func (m MetricsSource) flow() string {
	var parts []string
	add := func(key, value string) { parts = append(parts, key+": "+value) }
	for _, f := range []struct{ key, value string }{{"name", m.Name}, {"url", m.URL}, {"role", m.Role}, {"kind", m.Kind}} {
		if f.value != "" {
			add(f.key, text(f.value))
		}
	}
	if m.Interval != 0 {
		add("interval", m.Interval.String())
	}
	if m.APIKey != "" {
		add("api_key", text(m.APIKey))
	}
	if len(m.Headers) > 0 {
		var headers []string
		for _, name := range sorted(m.Headers) {
			headers = append(headers, text(name)+": "+text(m.Headers[name]))
		}
		add("headers", "{"+strings.Join(headers, ", ")+"}")
	}
	if m.All {
		add("all", "true")
	}
	if len(m.Families) > 0 {
		add("families", flow(m.Families))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
