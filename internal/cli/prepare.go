package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/run"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/rows"
)

// preparation is what prepare asks, ready to be sent.
type preparation struct {
	source itemSource // of the prompts; nil: none
	own    bool       // source is not that of the workload
	rows   int64
	flush  []string // URLs
}

// prepareNames are what errors about the file of prepare.dataset call settings. Of
// workload.dataset it takes columns, extra, turns and block_tokens; how it is laid out shows.
var prepareNames = map[string]string{
	"--dataset or workload.dataset.path":                       "prepare.dataset",
	"workload.dataset.path":                                    "prepare.dataset",
	"name it: workload.dataset.format: ":                       "name the file with the extension of its format: ",
	"workload.dataset.format":                                  "prepare.dataset",
	"workload.dataset.time_unit":                               "prepare.dataset",
	", or leave it out with workload.dataset.on_bad_row: skip": "",
}

// makePreparation reads the rows of prepare, and checks every one of them.
func (j *job) makePreparation(show *loading) error {
	p := j.spec.Prepare
	if p.Flush != "" {
		if strings.HasPrefix(p.Flush, "/") {
			for _, b := range j.bases {
				j.prep.flush = append(j.prep.flush, b.Root+p.Flush)
			}
		} else {
			j.prep.flush = []string{p.Flush}
		}
	}
	if !p.Sends() {
		return nil
	}
	j.prep.source = j.source
	if p.Dataset != "" {
		w := j.spec.Workload
		w.Mix = nil
		d := spec.Default().Workload.Dataset
		d.Path, d.Columns, d.Extra, d.Turns, d.BlockTokens = p.Dataset, w.Dataset.Columns, w.Dataset.Extra, w.Dataset.Turns, w.Dataset.BlockTokens
		w.Dataset = d
		var err error
		if j.prep.source, err = rows.OpenWith(w, j.spec.Seeds.Run, rows.Options{Check: j.sendable, Watch: show.file(), Shared: true, Names: prepareNames}); err != nil {
			show.done()
			return usageError(err.Error())
		}
		j.prep.own = true
	}
	n := j.prep.source.Len()
	if j.prep.rows = p.Rows; p.Rows == 0 {
		j.prep.rows = n
	}
	if j.prep.rows > n {
		return usageError(fmt.Sprintf("prepare.rows asks for %d rows, %s has %d", p.Rows, j.prep.source.Info().Path, n), "ask for fewer")
	}
	return nil
}

// sendable reports why an item cannot be sent.
func (j *job) sendable(item workload.Item) error {
	j.hidden.of(item)
	_, err := j.dialect.Body(item, j.options(j.spec.Target.Model))
	return err
}

// lines describe the preparation, for the statement and the tape's notes.
func (p *preparation) lines(s *spec.Spec) []string {
	var out []string
	if len(p.flush) > 0 {
		out = append(out, "POST "+strings.Join(p.flush, ", ")+" to empty the cache; a failure ends the run")
	}
	if p.source != nil {
		info := p.source.Info()
		each := ""
		if n := len(s.Target.Servers()); n > 1 {
			each = fmt.Sprintf(", each to all %d servers", n)
		}
		out = append(out, fmt.Sprintf("%d rows of %s (sha256 %.12s…)%s, %d at a time, max_tokens %d, ended before the load begins; a failure ends the run",
			p.rows, info.Path, info.SHA256, each, s.Prepare.Concurrency, s.Prepare.OutputTokens))
	}
	return out
}

// prepareOf is the preparation for the run.
func (j *job) prepareOf(own, other *client.Client) run.Prepare {
	p := run.Prepare{Rows: j.prep.rows, Servers: int64(len(j.bases)), Concurrency: j.spec.Prepare.Concurrency, Output: j.spec.Prepare.OutputTokens}
	if j.prep.source != nil {
		p.Source = j.prep.source
	}
	for _, url := range j.prep.flush {
		p.Flush = append(p.Flush, run.Flush{URL: j.mask(url), Do: func(ctx context.Context) (int, error) {
			c := other
			if j.isTarget(url) {
				c = own
			}
			status, err := j.flushCache(ctx, c, url)
			if err != nil {
				err = errors.New(secret.New(j.secrets()).Line(err.Error(), maxFlushError))
			}
			return status, err
		}})
	}
	return p
}

// flushTimeout bounds a flush: engines wait for running requests before they do.
const flushTimeout = 60 * time.Second

// maxFlushError bounds what is said of a flush that failed, in bytes.
const maxFlushError = 500

// flushCache gives the status of the answer, 0 without one.
func (j *job) flushCache(ctx context.Context, c *client.Client, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	var tr client.Trace
	resp, err := c.Do(ctx, http.MethodPost, url, j.headerFor(url), nil, &tr)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.Status/100 != 2 {
		first, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return resp.Status, fmt.Errorf("POST %s was answered %d %s: %q", url, resp.Status, http.StatusText(resp.Status), secret.New(j.secrets()).Line(string(first), 200))
	}
	return resp.Status, nil
}
