package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	dict "tokentape/internal/report/words"
)

//go:embed page.html page.css js
var files embed.FS

// scripts are the page's code in the order in which it runs. What is in draw needs
// no page: it draws on whatever has the methods of a canvas that it calls.
var scripts = []string{"base.js", "data.js", "draw.js", "charts.js", "time.js", "dist.js", "waterfall.js", "texts.js", "rows.js", "links.js", "page.js"}

// Languages are those that Options.Lang can be.
func Languages() []string { return dict.Languages() }

// Options say how a page begins, and what it holds beside the Results.
type Options struct {
	Lang string // of Languages; "": English
	// Texts are prompts and answers to hold; nil, as always unless it is asked for: none.
	Texts *Texts
}

// Write writes report.html: one file, whole in itself. It asks Results for Charts;
// without them the page has tables alone. Errors: those of w, a language that is
// none of Languages, Results that hold a NaN.
func Write(w io.Writer, r *analysis.Results, o Options) error {
	if o.Lang == "" {
		o.Lang = Languages()[0]
	}
	if !slices.Contains(Languages(), o.Lang) {
		return fmt.Errorf("language %q: one of %s", o.Lang, strings.Join(Languages(), ", "))
	}
	var data bytes.Buffer
	if err := document(&data, r, o.Lang, o.Texts); err != nil {
		return err
	}
	script, err := code()
	if err != nil {
		return err
	}
	if err := front(w, r, o.Lang, script); err != nil {
		return err
	}
	// Base64 and our own script hold nothing that could end their element.
	if _, err := io.WriteString(w, "<script type=\"application/octet-stream\" id=\"data\">"); err != nil {
		return err
	}
	e := base64.NewEncoder(base64.StdEncoding, w)
	if _, err := e.Write(data.Bytes()); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "</script>\n<script>%s%s", script, pageEnd)
	return err
}

// pageEnd follows the script of a page.
const pageEnd = "</script>\n</body>\n</html>\n"

// front writes what comes before the data: all that can be read without script.
func front(w io.Writer, r *analysis.Results, lang string, script []byte) error {
	style, err := files.ReadFile("page.css")
	if err != nil {
		return err
	}
	t, err := template.New("page.html").Funcs(functions(lang)).ParseFS(files, "page.html")
	if err != nil {
		return err
	}
	v := newView(r, lang)
	v.CSP = policy(style, script)
	v.Style = template.CSS(style) // our own file
	return t.Execute(w, v)
}

// Drawing is the code that draws charts, which needs no page and no browser: only
// something with the methods of a canvas, such as its own Pen, which makes SVG.
func Drawing() []byte {
	text, err := files.ReadFile("js/draw.js")
	if err != nil {
		panic(err) // it is part of the program
	}
	return text
}

// code is the page's script.
func code() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("(() => {\n\"use strict\";\n")
	for _, name := range scripts {
		text, err := files.ReadFile("js/" + name)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteString("})();\n")
	return b.Bytes(), nil
}

// policy is the content security policy of a page: its own style and its own script,
// and nothing else.
func policy(style, script []byte) string {
	return "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; style-src " + source(style) + "; script-src " + source(script)
}

// source names a text by its hash, for a content security policy.
func source(text []byte) string {
	h := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
}
