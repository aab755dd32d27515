package browsertests

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// cpu is the time that the page's main thread has worked, in milliseconds: unlike wall
// time it does not grow when the machine does other things too.
func (t *tab) cpu() float64 {
	t.tb.Helper()
	var ms float64
	t.run(chromedp.ActionFunc(func(ctx context.Context) error {
		list, err := performance.GetMetrics().Do(ctx)
		for _, m := range list {
			if m.Name == "TaskDuration" {
				ms = m.Value * 1000
			}
		}
		return err
	}))
	return ms
}

// BenchmarkLarge opens the page of 250,000 requests and pans it: bytes of the page,
// milliseconds from the beginning of its loading to the first drawing of all charts,
// and frames a second of panning the waterfall and all charts at a hundredth of the
// run; and what of it the page's main thread worked. Run it with -benchtime 1x on a machine that does nothing else.
func BenchmarkLarge(b *testing.B) {
	path := pageOf(b, "large")
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	if st.Size() > 8_000_000 {
		b.Errorf("page of %d bytes", st.Size())
	}
	for b.Loop() {
		t := blank(b)
		t.run(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
		t.run(chromedp.Navigate("file://"+path), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery))
		ready := ask[float64](t, `performance.getEntriesByName("ready")[0].startTime`)
		opened := t.cpu()
		zoomed := ask[float64](t, pan(100))
		before := t.cpu()
		whole := ask[float64](t, pan(1.5))
		b.ReportMetric(opened, "open-cpu-ms")
		b.ReportMetric((t.cpu()-before)/60, "pan-whole-cpu-ms/frame")
		b.ReportMetric(float64(st.Size()), "page-bytes")
		b.ReportMetric(ready, "open-ms")
		b.ReportMetric(zoomed, "pan-fps")
		b.ReportMetric(whole, "pan-whole-fps")
	}
}

// pan zooms in so many times and pans by keys, a step each frame.
func pan(zoom float64) string {
	times := 0
	for z := 1.0; z < zoom; z *= 2 {
		times++
	}
	return `(async () => {
		const c = document.querySelector("#chart-waterfall canvas"), key = (key, shiftKey) => c.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey }));
		const frame = () => new Promise(requestAnimationFrame);
		c.scrollIntoView();
		key("0");
		for (let i = 0; i < ` + string(rune('0'+times)) + `; i++) key("+");
		for (let i = 0; i < 5; i++) await frame();
		const n = 60, t = performance.now();
		for (let i = 0; i < n; i++) { key(i % 20 < 10 ? "ArrowRight" : "ArrowLeft", true); await frame(); }
		return n * 1000 / (performance.now() - t);
	})()`
}
