package spec

import (
	"net/url"
	"strings"
)

// Sends reports whether preparation sends prompts.
func (p Prepare) Sends() bool { return p.Dataset != "" || p.Rows > 0 }

// prepareEffect lists which of preparation's fields change nothing.
func (s *Spec) prepareEffect(idle func(when bool, path, why, mend string)) {
	const none = "neither prepare.rows nor prepare.dataset is given, so that nothing is sent"
	for _, path := range []string{"prepare.concurrency", "prepare.output_tokens"} {
		idle(!s.Prepare.Sends(), path, none, "give prepare.rows or prepare.dataset, or remove it")
	}
}

// prepare checks the fields of prepare, each by itself.
func (c *checker) prepare() {
	p := c.s.Prepare
	if p.Rows < 0 || p.Rows > maxCount || p.Rows == 0 && c.s.given("prepare.rows") {
		c.bad("prepare.rows", "1 or more, or leave it out", "%d is no number of rows to send", p.Rows)
	}
	if p.Concurrency < 1 || p.Concurrency > maxCount {
		c.bad("prepare.concurrency", "1 or more", "%d is no number of requests in flight", p.Concurrency)
	}
	if p.OutputTokens < 1 || p.OutputTokens > 1<<31-1 {
		c.bad("prepare.output_tokens", "1 is enough to fill the cache", "%d is no number of output tokens", p.OutputTokens)
	}
	if p.Flush == "" || strings.HasPrefix(p.Flush, "/") {
		return
	}
	u, err := url.Parse(p.Flush)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		c.bad("prepare.flush", "http://HOST:PORT/flush_cache, or /flush_cache for each server", "%q is neither a URL nor a path", clip(maskURL(p.Flush)))
	} else if u.User != nil {
		c.bad("prepare.flush", "the key and headers of target are sent to its own servers", "a URL with user and password is not supported here")
	}
}
