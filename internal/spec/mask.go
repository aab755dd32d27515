package spec

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"tokentape/internal/secret"
)

// urlField is a setting that holds a URL, and may hold a secret in it.
type urlField struct {
	path  string
	value *string
}

// urls are all settings that hold URLs. A setting that is missing here is shown as
// it stands.
func (s *Spec) urls() []urlField {
	out := []urlField{{"target.url", &s.Target.URL}, {"target.proxy", &s.Target.Proxy}, {"prepare.flush", &s.Prepare.Flush}, {"sweep.between.post", &s.Sweep.Between.Post}, {"target.custom.path", &s.Target.Custom.Path}}
	for i := range s.Target.URLs {
		out = append(out, urlField{fmt.Sprintf("target.urls[%d]", i), &s.Target.URLs[i]})
	}
	for i := range s.Telemetry.Metrics {
		out = append(out, urlField{fmt.Sprintf("telemetry.metrics[%d].url", i), &s.Telemetry.Metrics[i].URL})
	}
	return out
}

// secretParam reports whether a query parameter of this name, as it stands in a URL,
// carries a credential.
func secretParam(name string) bool {
	for range 3 { // escapes on top of each other
		plain, err := url.QueryUnescape(name)
		if err != nil || plain == name {
			break
		}
		name = plain
	}
	return looksSecret(name) || strings.EqualFold(strings.TrimSpace(name), "code") // of a sign-in
}

var (
	// What stands between two marks of a query or fragment; in a line of YAML a
	// quote or a blank ends it too.
	param       = regexp.MustCompile(`([?&;#])([^=&;?#]*)=([^&;#]*)`)
	paramInLine = regexp.MustCompile(`([?&;#])([^=&;?#\s"']*)=([^&;#\s"']*)`)
)

// params calls found with the place of the value of each credential-like parameter.
func params(re *regexp.Regexp, text string, found func(from, to int)) {
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		if m[6] < m[7] && secretParam(text[m[4]:m[5]]) {
			found(m[6], m[7])
		}
	}
}

func maskParams(re *regexp.Regexp, text string) string {
	var b strings.Builder
	done := 0
	params(re, text, func(from, to int) {
		b.WriteString(text[done:from] + mask)
		done = to
	})
	return b.String() + text[done:]
}

// maskURL hides userinfo and the values of credential-like parameters, also in what
// is not a URL.
func maskURL(raw string) string {
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		from := 0
		if i := strings.Index(raw, "://"); i >= 0 && i < at {
			from = i + 3
		}
		raw = raw[:from] + mask + raw[at:]
	}
	return maskParams(param, raw)
}

// urlSecrets are what maskURL hides, as it stands and without escapes.
func urlSecrets(raw string, add func(string)) {
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		info := raw[:at]
		if i := strings.Index(info, "://"); i >= 0 {
			info = info[i+3:]
		}
		add(info)
		if _, pass, ok := strings.Cut(info, ":"); ok {
			add(pass)
			if plain, err := url.PathUnescape(pass); err == nil {
				add(plain)
			}
		}
		if _, auth, ok := splitUserinfo(raw); ok {
			add(strings.TrimPrefix(auth, "Basic "))
		}
	}
	params(param, raw, func(from, to int) {
		add(raw[from:to])
		if plain, err := url.QueryUnescape(raw[from:to]); err == nil {
			add(plain)
		}
	})
}

// masked is m, which nothing shares, without its secrets but those in the URL.
func (m MetricsSource) masked() MetricsSource {
	if m.APIKey != "" {
		m.APIKey = mask
	}
	for name, v := range m.Headers {
		m.Headers[name] = secret.Mark(name, v)
	}
	return m
}

// bodies are the parts of request bodies, and what else has keys that the user makes up.
func (s *Spec) bodies() map[string]*map[string]any {
	return map[string]*map[string]any{
		"target.custom.body": &s.Target.Custom.Body, "workload.sampling": &s.Workload.Sampling,
		"workload.body": &s.Workload.Body, "workload.dataset.filter": &s.Workload.Dataset.Filter,
	}
}

// maskBody hides in a part of a request body what is under a credential's name, and
// the secrets of URLs in its texts.
func maskBody(v map[string]any, found func(string)) map[string]any {
	out, _ := eachText(secret.Fields(v, found), func(text string) string {
		if found != nil {
			textSecrets(text, found)
		}
		return maskText(text)
	}).(map[string]any)
	return out
}

// eachText changes every text of a copy that is its own.
func eachText(v any, change func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = eachText(e, change)
		}
	case []any:
		for i, e := range v {
			v[i] = eachText(e, change)
		}
	case string:
		return change(v)
	}
	return v
}

// userinfo is that of a URL anywhere in a text.
var userinfo = regexp.MustCompile(`(\w+://)([^\s"'/@]+)@`)

// maskText hides the secrets of the URLs in a text.
func maskText(text string) string {
	return maskParams(paramInLine, userinfo.ReplaceAllString(text, "${1}"+mask+"@"))
}

// textSecrets are what maskText hides.
func textSecrets(text string, add func(string)) {
	for _, m := range userinfo.FindAllStringSubmatch(text, -1) {
		add(m[2])
		if _, pass, ok := strings.Cut(m[2], ":"); ok {
			add(pass)
		}
	}
	params(paramInLine, text, func(from, to int) { add(text[from:to]) })
}

// minShown is the longest value of a header without a credential's name that may stand
// in the texts of others, in bytes: "blue" and "prod" are words, not secrets.
const minShown = 8

// headerSecrets are the values of headers that no text may hold, and the credentials in
// them.
func headerSecrets(headers map[string]string, model string, add func(string)) {
	for name, v := range headers {
		if !secret.Header(name) || secret.Marked(v) {
			continue
		}
		if !secret.Name(name) && (len(v) < minShown || strings.Contains(model, v)) {
			continue
		}
		add(v)
		if scheme, credential, ok := strings.Cut(v, " "); ok && len(scheme) <= 10 {
			add(strings.TrimSpace(credential))
			for _, part := range basicParts(credential) {
				add(part)
			}
		}
	}
}

// masks notes values that were masked when they were written down.
func (c *checker) masks() {
	for _, f := range c.s.urls() {
		if strings.Contains(*f.value, "="+mask) || strings.Contains(*f.value, mask+"@") {
			c.note(f.path, "give the whole URL, the secret as a variable: ${TOKEN}", "*** is a mask, not a secret")
		}
	}
	for _, p := range c.s.paths() {
		if strings.Contains(*p, mask) {
			c.note("", "name the file again; best without a key in its path", "%s: *** is a mask, not part of a path", clip(*p))
		}
	}
	if strings.Contains(c.s.Target.Model, mask) {
		c.note("target.model", "give the whole name", "*** is a mask, not part of a name")
	}
	masked := func(prefix string, headers map[string]string) {
		for _, name := range sorted(headers) {
			if v := headers[name]; secret.Marked(v) {
				c.note(prefix+name, "give the value, a secret as a variable: ${TOKEN}", "%s is a mask, not a value", v)
			}
		}
	}
	masked("target.headers.", c.s.Target.Headers)
	for i, m := range c.s.Telemetry.Metrics {
		masked(fmt.Sprintf("telemetry.metrics[%d].headers.", i), m.Headers)
	}
	bodies := c.s.bodies()
	for _, path := range sorted(bodies) {
		for _, key := range sorted(*bodies[path]) {
			eachText(cloneAny((*bodies[path])[key]), func(text string) string {
				if text == mask {
					c.note(path+"."+key, "give the value, a secret as a variable: ${TOKEN}", "*** is a mask, not a value")
				}
				return text
			})
		}
	}
}
