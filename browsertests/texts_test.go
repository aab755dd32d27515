package browsertests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tokentape/browsertests/fixture"
	"tokentape/internal/report/html"
)

// Prompts and answers of the chosen request are shown as the text that they are, whatever
// they hold, long ones with their size; of runs with and without times.
func TestTexts(t *testing.T) {
	hostile := []string{
		`</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2">`, "\u202e\u2066 שלום \u200fنموذج 你好", "🤖👩‍👩‍👧", "line 1\n\tline 2", `{{.}} ${window.pwned=3}`, "",
	}
	long := strings.Repeat("<b>長</b>", 125_000) // 1 MB
	for _, name := range []string{"hostile", "untimed"} {
		s := fixture.Kinds()[name]
		res, err := s.Results()
		if err != nil {
			t.Fatal(err)
		}
		texts := &html.Texts{Of: map[int][]html.Text{}, Notes: []string{hostile[0]}}
		for i, text := range hostile {
			if text != "" {
				texts.Of[i] = []html.Text{html.NewText(html.TextPrompt, text), html.NewText(html.TextAnswer, text+"!")}
			}
		}
		texts.Of[len(hostile)] = []html.Text{html.NewText(html.TextReasoning, long)}
		b := openFile(t, writeWith(t, res, html.Options{Texts: texts}))
		b.show("#row-texts")
		b.until(`document.querySelectorAll("#row-table button.go").length > 6`)
		pick := func(i int) []string {
			return ask[[]string](b, fmt.Sprintf(`(() => {
				document.querySelector('#row-table tr[data-row="%d"] button.go').click();
				return [...document.querySelectorAll("#row-texts pre")].map(p => p.textContent);
			})()`, i))
		}
		for i, text := range hostile {
			got := pick(i)
			if text == "" {
				if len(got) != 0 || !strings.Contains(ask[string](b, `document.querySelector("#row-texts").textContent`), "neither prompt nor answer") {
					t.Errorf("%s: row %d has %q", name, i, got)
				}
			} else if len(got) != 2 || got[0] != text || got[1] != text+"!" {
				t.Errorf("%s: row %d has %q, want %q", name, i, got, text)
			}
		}
		got := pick(len(hostile))
		if want := long[:strings.Index(long, "b>")]; len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.Contains(got[0], "[…]") || len([]rune(got[0])) > html.TextHead+html.TextTail+10 {
			t.Errorf("%s: a long text has %d pieces", name, len(got))
		}
		if said := ask[string](b, `document.querySelector("#row-texts .said").textContent`); !strings.Contains(said, "1,000,000 characters, of which 998,000 in the middle are left out here") {
			t.Errorf("%s: %.200q", name, said)
		}
		b.run(chromedp.Click("#lang", chromedp.ByQuery))
		if said := ask[string](b, `document.querySelector("#row-texts").textContent`); !strings.Contains(said, "1,000,000 个字符，此处省略中间 998,000 个") || !strings.Contains(said, "推理") {
			t.Errorf("%s: in Chinese %.200q", name, said)
		}
		if got := ask[string](b, `String(window.pwned)`); got != "undefined" {
			t.Fatalf("%s: script from outside ran: %s", name, got)
		}
		if n := ask[int](b, `document.querySelectorAll("img, script:not(:last-of-type)").length`); n != 0 {
			t.Errorf("%s: %d elements came with a text", name, n)
		}
	}
	if n := ask[int](open(t, "ordinary"), `document.querySelector("#row-texts").childNodes.length`); n != 0 {
		t.Error("a page that was not asked to speaks of prompts")
	}
}
