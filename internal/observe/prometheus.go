package observe

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"tokentape/tape"
)

// Exporter serves the moments of a run as a page in Prometheus' text format, at
// /metrics. It is safe for concurrent use.
type Exporter struct{ last atomic.Pointer[Moment] }

// Show puts another moment on the page.
func (e *Exporter) Show(m Moment) { e.last.Store(&m) }

// ServeHTTP answers GET /metrics and GET / with the page.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/" && r.URL.Path != "/metrics":
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "GET this page", http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Write([]byte(Page(e.last.Load())))
	}
}

// pageText is a page that is being written.
type pageText struct{ strings.Builder }

func (p *pageText) family(name, kind, help string) {
	fmt.Fprintf(p, "# HELP tokentape_%s %s\n# TYPE tokentape_%s %s\n", name, help, name, kind)
}

// value writes a series; labels are name and value in turns.
func (p *pageText) value(name string, v float64, labels ...string) {
	p.WriteString("tokentape_" + name)
	for i := 0; i+1 < len(labels); i += 2 {
		p.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + labels[i] + `="` + labelText.Replace(clean(labels[i+1])) + `"`)
	}
	if len(labels) > 1 {
		p.WriteByte('}')
	}
	p.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
}

var labelText = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func (p *pageText) one(name, kind, help string, v float64) {
	p.family(name, kind, help)
	p.value(name, v)
}

func (p *pageText) oneIf(name, kind, help string, v tape.Opt[float64]) {
	if v.OK {
		p.one(name, kind, help, v.V)
	}
}

// phases are the words for where a run is.
var phases = []string{"preparing", "starting", "warm-up", "measure", "ending", "draining", "stopping", "aborting", "done"}

// Page is a moment in Prometheus' text format; nil: no run has begun. What is not known
// is not on the page. Counters are of the run, and begin anew with the next.
func Page(m *Moment) string {
	p := &pageText{}
	running := 0.0
	if m != nil && !m.Final {
		running = 1
	}
	p.one("running", "gauge", "1 while a run goes on", running)
	if m == nil {
		return p.String()
	}
	s := &m.State
	p.family("phase", "gauge", "1 for the phase that the run is in")
	now := phase(*s, m.Setup.Warmup)
	for _, name := range phases {
		v := 0.0
		if name == now {
			v = 1
		}
		p.value("phase", v, "phase", name)
	}
	p.one("time_seconds", "gauge", "time since t = 0 of the run", float64(s.T)/1e9)
	p.oneIf("time_left_seconds", "gauge", "estimated time to the end", seconds(m.Left))
	if s.Planned >= 0 {
		p.one("requests_planned", "gauge", "measured requests of the plan", float64(s.Planned))
	}
	if s.Due.OK {
		p.one("requests_due_total", "counter", "requests of the plan whose time has come, warm-up included", float64(s.Due.V))
	}
	p.one("requests_sent_total", "counter", "requests that went out, in all phases", float64(s.Issued))
	p.one("requests_measured_sent_total", "counter", "measured requests that went out", float64(s.Measured))
	p.one("requests_in_flight", "gauge", "requests that went out and have not ended", float64(s.InFlight))
	if c := m.Setup.Concurrency; c > 0 {
		p.one("requests_in_flight_limit", "gauge", "C, the cap on requests in flight", float64(c))
	}
	p.family("requests_ended_total", "counter", "measured requests that ended, by how")
	for _, o := range []struct {
		name string
		n    int64
	}{{"ok", s.OK}, {"failed", failed(*s)}, {"cancelled", s.Cancelled}, {"abandoned", s.Abandoned}} {
		p.value("requests_ended_total", float64(o.n), "outcome", o.name)
	}
	if len(m.Failures) > 0 {
		p.family("requests_failed_total", "counter", "requests of the load that failed, by class")
		for _, f := range m.Failures {
			p.value("requests_failed_total", float64(f.N), "class", f.Class)
		}
	}
	p.one("token_events_total", "counter", "events of answers that carried output tokens", float64(s.Events))
	span := fmt.Sprintf(" over the last %d s", Span/1e9)
	p.oneIf("offered_requests_per_second", "gauge", "requests that fell due"+span, m.Offered)
	p.oneIf("achieved_requests_per_second", "gauge", "requests that went out"+span, m.Sent)
	p.oneIf("ended_requests_per_second", "gauge", "measured requests that ended"+span, m.Ended)
	p.oneIf("output_tokens_per_second", "gauge", "output tokens"+span, m.Tokens)
	p.summary("ttft_seconds", "time to first token of ok requests; quantiles"+span, m.TTFT)
	p.summary("tpot_seconds", "time per output token of ok requests; quantiles"+span, m.TPOT)
	p.one("recorder_queue", "gauge", "ended requests that wait for the tape", float64(s.Queue))
	if c := m.Client; c != nil {
		p.oneIf("pacer_lag_p99_seconds", "gauge", "how late requests were written, p99 over the last sample", seconds(c.PacerP99))
		p.one("client_cpu_cores", "gauge", "cores that the client uses", c.CPU)
		p.oneIf("host_cpu_cores", "gauge", "cores that are busy on the client's host", c.HostBusy)
		p.one("client_memory_bytes", "gauge", "resident memory of the client", float64(c.RSS))
	}
	return p.String()
}

// summary writes quantiles of the last seconds, and sum and count of the run.
func (p *pageText) summary(name, help string, s Spread) {
	p.family(name, "summary", help)
	if s.N > 0 {
		p.value(name, float64(s.P50)/1e9, "quantile", "0.5")
		p.value(name, float64(s.P90)/1e9, "quantile", "0.9")
		p.value(name, float64(s.P99)/1e9, "quantile", "0.99")
	}
	p.value(name+"_sum", float64(s.Sum)/1e9)
	p.value(name+"_count", float64(s.All))
}

func seconds(ns tape.Opt[int64]) tape.Opt[float64] {
	if !ns.OK {
		return tape.Opt[float64]{}
	}
	return tape.Some(float64(ns.V) / 1e9)
}
