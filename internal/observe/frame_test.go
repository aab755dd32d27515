package observe

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tokentape/internal/report"
	"tokentape/internal/report/words"
	"tokentape/tape"
)

var update = flag.Bool("update", false, "write the golden frames again")

func middle() Moment {
	return Moment{
		State: State{
			T: 72_300_000_000, Begun: tape.Some[int64](1_000_000_000), Planned: 640, Issued: 231, Before: 2, Measured: 221, Due: tape.Some[int64](236),
			InFlight: 90, OK: 126, Failed: map[string]int64{"http_status": 4, "reset": 1}, Warmed: 8, Prepared: 10, Events: 60_000,
		},
		Setup: Setup{Concurrency: 90, Rate: 6, Warmup: 8, LastDue: 100e9, Drain: 30e9, Cores: 8},
		Span:  Span, Offered: tape.Some(6.0), Sent: tape.Some(5.4), Ended: tape.Some(4.25), Tokens: tape.Some(2210.4), Left: tape.Some(int64(95e9)),
		TTFT:     Spread{N: 43, P50: 812_345_678, P90: 2_345_678_901, P99: 12_345_678_901, All: 126, Sum: 100e9},
		TPOT:     Spread{N: 43, P50: 31_234_567, P90: 45_678_901, P99: 99_999_999, All: 126, Sum: 4e9},
		Failures: []Failure{{"http_status 429 (rate_limit)", 4, `POST http://10.0.0.7:30000/v1/chat/completions was answered 429 Too Many Requests: "slow down"`}, {"reset", 1, "connection reset by peer"}},
		Client:   &tape.ClientSample{CPU: 0.31, PacerP99: tape.Some[int64](42_000), HostBusy: tape.Some(1.2), RSS: 60 << 20},
	}
}

func goldenMoments() map[string]Moment {
	begin := Moment{State: State{T: -1_000_000, Planned: 640}, Setup: Setup{Concurrency: 90, Rate: 6, Warmup: 8, LastDue: 100e9}}
	timed := middle()
	timed.Planned, timed.Due, timed.Offered = -1, tape.Opt[int64]{}, tape.Opt[float64]{}
	timed.Setup.Duration, timed.Setup.LastDue = 120e9, 0
	aborted := middle()
	aborted.Stopped, aborted.Why, aborted.Draining = tape.ReasonAbort, "limits.abort.failed: 5 requests failed (http_status 4, reset 1); the last: reset: connection reset by peer", true
	hostile := middle()
	hostile.Failures = []Failure{{"server_error", 2, "\x1b[2J\x1b]0;owned\x07 \u202egnihton\u202c 漢字の失敗\n🙂🙂 \xff" + strings.Repeat("long ", 1000)}}
	for i := range 9 {
		hostile.Failures = append(hostile.Failures, Failure{fmt.Sprintf("http_status %d", 500+i), 1, "no"})
	}
	done := middle()
	done.Final, done.InFlight, done.OK, done.Measured, done.Left = true, 0, 635, 640, tape.Opt[int64]{}
	silent := middle()
	silent.TTFT, silent.TPOT, silent.Failures, silent.Failed = Spread{}, Spread{}, nil, nil
	silent.Client = &tape.ClientSample{CPU: 1.9, PacerP99: tape.Some[int64](7_000_000)}
	chinese := middle()
	chinese.Setup.Say = report.LiveSayer("zh")
	chinese.Cancelled, chinese.Abandoned = 1, 2
	return map[string]Moment{"chinese": chinese, "begin": begin, "middle": middle(), "timed": timed, "aborted": aborted, "hostile": hostile, "done": done, "silent": silent}
}

// The golden frames: go test ./internal/observe -update writes them again.
func TestFrames(t *testing.T) {
	for name, m := range goldenMoments() {
		var b strings.Builder
		for _, s := range []Screen{{100, 30, false}, {60, 30, false}, {20, 40, false}, {80, 7, false}, {80, 2, false}, {100, 30, true}} {
			fmt.Fprintf(&b, "--- %d columns, %d rows, color %t\n", s.Width, s.Height, s.Color)
			for _, l := range Frame(m, s) {
				b.WriteString(strings.ReplaceAll(l, "\x1b", "␛") + "\n")
			}
		}
		fmt.Fprintf(&b, "--- in one line\n%s\n", Line(m))
		path := filepath.Join("testdata", "frames", name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// In Chinese nothing of the table but names and messages is English.
func TestFrameChinese(t *testing.T) {
	for name, m := range goldenMoments() {
		m.Setup.Say = report.LiveSayer("zh")
		outside := []string{clean(m.Why)}
		for i := range m.Failures {
			m.Failures[i].Message = ""
			outside = append(outside, clean(m.Failures[i].Class))
		}
		for class := range m.Failed {
			outside = append(outside, class)
		}
		for _, l := range append(Frame(m, Screen{Width: 100_000, Height: 100}), Line(m)) {
			if found := words.English(l, outside...); len(found) > 0 {
				t.Errorf("%s: %q in %q: its sentence is missing in internal/report/words/live.json", name, found, l)
			}
		}
	}
}

// shownMoments is a marked block of a document that shows recorded moments.
var shownMoments = regexp.MustCompile("(?s)<!-- live ([^ ]+) -->\n```text\n(.*?)```\n")

// The frames in the document are what the present view makes of the recorded moments.
// go test ./internal/observe -update draws them anew, go test ./internal/cli -run
// RecordLive -record-live records others.
func TestDocument(t *testing.T) {
	doc := filepath.Join("..", "..", "docs", "howto", "live.md")
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	want := shownMoments.ReplaceAllStringFunc(string(b), func(block string) string {
		name := shownMoments.FindStringSubmatch(block)[1]
		f, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var frames []string
		for d := json.NewDecoder(f); ; {
			var m Moment
			if err := d.Decode(&m); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			n++
			frames = append(frames, strings.Join(Frame(m, Screen{Width: 100, Height: 30}), "\n")+"\n")
		}
		return "<!-- live " + name + " -->\n```text\n" + strings.Join(frames, "\n") + "```\n"
	})
	if n < 3 {
		t.Fatalf("%d moments", n)
	}
	if *update {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(b), want); d != "" {
		t.Errorf("%s is not what the view shows; go test ./internal/observe -update (-is +shows):\n%s", doc, d)
	}
}

// A frame fits every screen, whatever the texts; colours change nothing but colours.
func TestFrameFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := middle()
		m.Failures = nil
		for range rapid.IntRange(0, 9).Draw(t, "failures") {
			m.Failures = append(m.Failures, Failure{rapid.String().Draw(t, "class"), rapid.Int64Min(0).Draw(t, "n"), rapid.String().Draw(t, "message")})
		}
		m.T, m.Final = rapid.Int64().Draw(t, "T"), rapid.Bool().Draw(t, "final")
		m.Left = tape.Some(rapid.Int64Min(0).Draw(t, "left"))
		m.Planned, m.Issued, m.OK = rapid.Int64Min(-1).Draw(t, "planned"), rapid.Int64Min(0).Draw(t, "issued"), rapid.Int64Min(0).Draw(t, "ok")
		m.Stopped, m.Why = rapid.SampledFrom([]string{"", tape.ReasonAbort, tape.ReasonDuration, tape.ReasonInterrupted}).Draw(t, "stopped"), rapid.String().Draw(t, "why")
		m.TTFT.P99 = rapid.Int64Min(0).Draw(t, "p99")
		s := Screen{Width: rapid.IntRange(1, 200).Draw(t, "width"), Height: rapid.IntRange(1, 50).Draw(t, "height")}
		lines := Frame(m, s)
		if len(lines) < 1 || len(lines) > max(1, s.Height-1) {
			t.Fatalf("%d lines on %d rows", len(lines), s.Height)
		}
		for _, l := range lines {
			if n := columns.StringWidth(l); n > max(s.Width-1, 1) {
				t.Fatalf("%d columns of %d: %q", n, s.Width, l)
			}
			if !utf8.ValidString(l) || strings.ContainsFunc(l, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
				t.Fatalf("it can steer a terminal: %q", l)
			}
		}
		s.Color = true
		colored := Frame(m, s)
		for i := range lines {
			if uncolored(colored[i]) != lines[i] {
				t.Fatalf("colours change %q to %q", lines[i], colored[i])
			}
			if strings.Contains(colored[i], "\x1b") && !strings.HasSuffix(colored[i], reset) && strings.LastIndex(colored[i], reset) < strings.LastIndex(strings.ReplaceAll(colored[i], reset, strings.Repeat(" ", len(reset))), "\x1b") {
				t.Fatalf("a colour stays on: %q", colored[i])
			}
		}
	})
}
