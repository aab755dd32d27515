package analysis

import (
	"strings"

	"tokentape/tape"
)

// cacheFacts reads what each server said of its cache before the run: SGLang's
// arguments, which decide whether counts are reported and whether there is a cache.
// With enable_cache_report a count of 0 is left out (docs/howto/cache.md).
func (r *run) cacheFacts() {
	for i := range r.servers {
		k := &r.servers[i]
		url := r.serverURL(k)
		for _, f := range r.said {
			if f.When != tape.FactsBefore || !f.OK || f.Part.Or(0) != k.part || url != "" && !strings.HasPrefix(url, strings.TrimSuffix(f.URL, "/")+"/") {
				continue
			}
			for _, at := range []string{"/get_server_info", "/server_info"} {
				says := func(name, value string) string {
					if f.Facts[at+" "+name] != value {
						return ""
					}
					return name + ": " + value + " (GET " + at + ")"
				}
				if k.off == "" {
					k.off = says("disable_radix_cache", "true")
				}
				if k.says == "" {
					k.says = says("enable_cache_report", "true")
				}
				if k.silent == "" {
					k.silent = says("enable_cache_report", "false")
				}
			}
		}
	}
}

// serverURL is the address of a server's requests, "" where the tape does not tell.
func (r *run) serverURL(k *reporting) string {
	h := r.header
	if parts := r.parts(); k.part >= 0 && k.part < int64(len(parts)) {
		h = &parts[k.part].Header
	}
	if k.url >= 0 && k.url < int64(len(h.Server.URLs)) {
		return h.Server.URLs[k.url]
	}
	return h.Server.URL
}
