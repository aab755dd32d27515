package spec

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// urlField is a setting that holds a URL, and may hold a secret in it.
type urlField struct {
	path  string
	value *string
}

// urls are all settings that hold URLs. A setting that is missing here is shown as
// it stands.
func (s *Spec) urls() []urlField {
	out := []urlField{{"target.url", &s.Target.URL}, {"target.proxy", &s.Target.Proxy}, {"prepare.flush", &s.Prepare.Flush}, {"target.custom.path", &s.Target.Custom.Path}}
	for i := range s.Target.URLs {
		out = append(out, urlField{fmt.Sprintf("target.urls[%d]", i), &s.Target.URLs[i]})
	}
	for i := range s.Telemetry.Metrics {
		out = append(out, urlField{fmt.Sprintf("telemetry.metrics[%d].url", i), &s.Telemetry.Metrics[i].URL})
	}
	return out
}

// shortSecrets are names of query parameters that carry credentials and that no
// secretWord is in.
var shortSecrets = []string{"sig", "sas", "jwt", "pwd", "pass", "code", "session", "sid", "bearer"}

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
	return looksSecret(name) || slices.Contains(shortSecrets, strings.ToLower(strings.TrimSpace(name)))
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

// masks notes URLs that were masked when they were written down.
func (c *checker) masks() {
	for _, f := range c.s.urls() {
		if strings.Contains(*f.value, "="+mask) || strings.Contains(*f.value, mask+"@") {
			c.note(f.path, "give the whole URL, the secret as a variable: ${TOKEN}", "*** is a mask, not a secret")
		}
	}
}
