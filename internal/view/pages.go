package view

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"sync"

	"tokentape/internal/report/html"
)

//go:embed *.html view.css words.json js
var files embed.FS

// pageData is what our own pages show.
type pageData struct {
	Lang string
	Dir  string
	ID   string // of the run that a page waits for
	Name string
	Path string
	To   string // where a page leads
}

func (s *Server) data(r *http.Request) *pageData {
	return &pageData{Lang: s.langOf(r), Dir: shown(s.dir, mostText)}
}

func must(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return text
}

// words are those of our pages and of the charts, by key.
var words = sync.OnceValue(func() map[string][2]string {
	w := html.Words()
	var own map[string][2]string
	if err := json.Unmarshal(must("words.json"), &own); err != nil {
		panic(err) // it is part of the program
	}
	maps.Copy(w, own)
	return w
})

// say is a word of our pages in a language.
func say(key, lang string) string {
	return words()[key][max(0, slices.Index(html.Languages(), lang))]
}

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"word": say,
		// t is a word that follows the language of the page.
		"t": func(key, lang string) template.HTML {
			return template.HTML(`<span data-t="` + template.HTMLEscapeString(key) + `">` + template.HTMLEscapeString(say(key, lang)) + `</span>`)
		},
	}).ParseFS(files, "*.html"))
})

var style = sync.OnceValue(func() []byte { return slices.Concat(html.Style(), must("view.css")) })

// script is one script for all our pages: what they have in common with report.html,
// their words, and their own code.
var script = sync.OnceValue(func() []byte {
	text, err := json.Marshal(words())
	if err != nil {
		panic(err) // strings
	}
	var b bytes.Buffer
	b.WriteString("(() => {\n\"use strict\";\n")
	b.Write(html.Kit())
	b.WriteString("const allWords = ")
	b.Write(text)
	b.WriteString(";\n")
	for _, name := range []string{"common.js", "wait.js", "list.js", "overlay.js", "compare.js", "start.js"} {
		b.Write(must("js/" + name))
	}
	b.WriteString("})();\n")
	return b.Bytes()
})
