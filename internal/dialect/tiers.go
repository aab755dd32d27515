package dialect

import "tokentape/tape"

// Tiers are cached tokens by where they lay, and what the storage is; absent where
// the server does not say.
type Tiers struct {
	Device, Host, Storage tape.Opt[int64]
	Backend               string // at most 200 bytes
}

// tiers reads where cached tokens lay, as SGLang splits them with a hierarchical
// cache: {"device":…,"host":…}, with "storage" and "storage_backend" where there
// is storage behind. Its /generate tells them in meta_info.cached_tokens_details,
// its OpenAI routes in sglext.cached_tokens_details when the body asks with
// return_cached_tokens_details. null is a server that does not split the count.
func (c *core) tiers(v value) {
	known := func(to *tape.Opt[int64], name string, v value) {
		if n := c.count(name, v); n != Unknown {
			*to = tape.Some(n)
		}
	}
	t := &c.facts.Tiers
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "device":
			known(&t.Device, "cached_device", m.val)
		case "host":
			known(&t.Host, "cached_host", m.val)
		case "storage":
			known(&t.Storage, "cached_storage", m.val)
		case "storage_backend":
			if s := c.str(m.val); len(s) > 0 {
				t.Backend = clip(s, maxName)
			}
		}
	}
}
