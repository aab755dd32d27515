package browsertests

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tokentape/browsertests/fixture"
	"tokentape/internal/analysis"
	"tokentape/internal/report/html"
)

// patience ends a test whose browser hangs; it decides nothing else.
const patience = 3 * time.Minute

// chromium is one browser for all tests, each with a page of its own.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path := os.Getenv("CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		return nil, fmt.Errorf("no Chromium: apt-get install chromium, or name one in CHROMIUM")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(patience))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, end := chromedp.NewContext(alloc)
	closers = append(closers, end, stop)
	return ctx, chromedp.Run(ctx)
})

var closers []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, f := range closers {
		f()
	}
	for _, dir := range tmp {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var (
	pages sync.Map // path of the page by name of its shape
	tmp   []string
)

// pageOf writes the page of a shape, once.
func pageOf(tb testing.TB, name string) string {
	tb.Helper()
	if path, ok := pages.Load(name); ok {
		return path.(string)
	}
	s, ok := fixture.Kinds()[name]
	if name == "large" {
		s, ok = fixture.Large(), true
	}
	if !ok {
		tb.Fatalf("no shape %q", name)
	}
	res, err := s.Results()
	if err != nil {
		tb.Fatal(err)
	}
	path := write(tb, res)
	pages.Store(name, path)
	return path
}

// write writes the page of results into a folder that lasts until the tests end.
func write(tb testing.TB, res *analysis.Results) string {
	tb.Helper()
	return writeWith(tb, res, html.Options{})
}

func writeWith(tb testing.TB, res *analysis.Results, o html.Options) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "tokentape-page-")
	if err != nil {
		tb.Fatal(err)
	}
	tmp = append(tmp, dir)
	path := filepath.Join(dir, "report.html")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(f)
	if err := html.Write(w, res, o); err != nil {
		tb.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// tab is a page in the browser, with all that it complained of or asked for.
type tab struct {
	tb       testing.TB
	ctx      context.Context
	allow    string // what requests may begin with, beside the page's own file
	mu       sync.Mutex
	problems []string
}

// open shows the page of a shape and waits until it has drawn itself.
func open(tb testing.TB, name string) *tab {
	tb.Helper()
	return openFile(tb, pageOf(tb, name))
}

// openFile shows a page and waits until it has drawn itself.
func openFile(tb testing.TB, path string) *tab {
	tb.Helper()
	t := blank(tb)
	t.run(chromedp.Navigate("file://"+path), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery))
	return t
}

func blank(tb testing.TB) *tab {
	tb.Helper()
	main, err := chromium()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, end := chromedp.NewContext(main)
	ctx, late := context.WithTimeout(ctx, patience)
	t := &tab{tb: tb, ctx: ctx}
	chromedp.ListenTarget(ctx, t.hear)
	t.run(network.Enable(), log.Enable(), runtime.Enable(), chromedp.EmulateViewport(1280, 900))
	tb.Cleanup(func() {
		late()
		end()
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, p := range t.problems {
			tb.Error(p)
		}
	})
	return t
}

func (t *tab) hear(ev any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add := func(format string, args ...any) { t.problems = append(t.problems, fmt.Sprintf(format, args...)) }
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if u := ev.Request.URL; !(t.allow != "" && strings.HasPrefix(u, t.allow)) && !(strings.HasPrefix(u, "file:///") && strings.HasSuffix(u, "/report.html")) && !strings.HasPrefix(u, "blob:") && !strings.HasPrefix(u, "data:") && u != "about:blank" {
			add("the page asked for %s", u)
		}
	case *runtime.EventExceptionThrown:
		add("exception: %s", ev.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.APITypeError || ev.Type == runtime.APITypeWarning {
			args, _ := json.Marshal(ev.Args)
			add("console: %s", args)
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.LevelError {
			add("log: %s %s", ev.Entry.Text, ev.Entry.URL)
		}
	}
}

func (t *tab) run(actions ...chromedp.Action) {
	t.tb.Helper()
	if err := chromedp.Run(t.ctx, actions...); err != nil {
		t.tb.Fatal(err)
	}
}

// ask evaluates an expression in the page.
func ask[T any](t *tab, js string) T {
	t.tb.Helper()
	var v T
	t.run(chromedp.Evaluate(js, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// show scrolls to an element and waits until it has been drawn.
func (t *tab) show(sel string) {
	t.tb.Helper()
	ask[bool](t, `(async () => {
		document.querySelector('`+sel+`').scrollIntoView({ block: "center" });
		for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame);
		return true;
	})()`)
}

// until waits for an expression to become true.
func (t *tab) until(js string) {
	t.tb.Helper()
	if err := chromedp.Run(t.ctx, chromedp.Poll("!!("+js+")", nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience))); err != nil {
		t.tb.Fatalf("%s: %v", js, err)
	}
}

// saved clicks what saves a file and gives its text.
func (t *tab) saved(sel string) string {
	t.tb.Helper()
	dir := t.tb.TempDir()
	t.run(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir).WithEventsEnabled(true).WithBrowserContextID(chromedp.FromContext(t.ctx).BrowserContextID))
	done := make(chan struct{})
	var once sync.Once
	chromedp.ListenTarget(t.ctx, func(ev any) {
		if e, ok := ev.(*browser.EventDownloadProgress); ok && e.State == browser.DownloadProgressStateCompleted {
			once.Do(func() { close(done) })
		}
	})
	chromedp.ListenBrowser(t.ctx, func(ev any) {
		if e, ok := ev.(*browser.EventDownloadProgress); ok && e.State == browser.DownloadProgressStateCompleted {
			once.Do(func() { close(done) })
		}
	})
	t.run(chromedp.Click(sel, chromedp.ByQuery))
	select {
	case <-done:
	case <-t.ctx.Done():
		t.tb.Fatalf("%s: nothing was saved", sel)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.tb.Fatalf("%s: files %v", sel, files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.tb.Fatal(err)
	}
	return string(b)
}
