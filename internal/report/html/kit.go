package html

import (
	"bytes"
	"maps"
)

// kit are the scripts that pages of runs other than report.html are built with.
var kit = []string{"base.js", "data.js", "draw.js", "charts.js", "time.js"}

// Kit is the code that report.html has in common with other pages of runs: helpers,
// the reader of a Document, drawing, charts with their tables and files, and charts
// over one shared time. It is to stand in one function with the code that uses it,
// which gives state.doc: Words, and defs as in a Document.
func Kit() []byte {
	var b bytes.Buffer
	for _, name := range kit {
		text, err := files.ReadFile("js/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		b.Write(text)
	}
	return b.Bytes()
}

// Style is the style sheet of report.html.
func Style() []byte {
	text, err := files.ReadFile("page.css")
	if err != nil {
		panic(err) // it is part of the program
	}
	return text
}

// Words are the words of the page by key, one in each of Languages.
func Words() map[string][2]string { return maps.Clone(dictionary()) }

// Policy is the content security policy of the pages that Write makes. A file that
// claims to be such a page can be served with it: no other script runs in it.
func Policy() string {
	script, err := code()
	if err != nil {
		panic(err) // it is part of the program
	}
	return policy(Style(), script)
}

// Current reports whether a page ends with the script of the pages that Write makes.
// tail is the end of the page, of TailBytes bytes or more.
func Current(tail []byte) bool {
	script, err := code()
	return err == nil && bytes.HasSuffix(tail, append(append([]byte("<script>"), script...), pageEnd...))
}

// TailBytes is how much of a page's end Current looks at.
func TailBytes() int64 {
	script, _ := code()
	return int64(len("<script>") + len(script) + len(pageEnd))
}
