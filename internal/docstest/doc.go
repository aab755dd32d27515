// Package docstest runs the commands that the project's documents show.
//
// In: Markdown files with console blocks marked <!-- run -->. Out: a failure for
// every block whose commands do not exit as the document says. It must never
// pass a marked block without running it, and must leave no process behind.
//
// A marked block looks like this; lines that begin with "$ " are the commands, a
// trailing backslash continues one, everything else is output and not compared:
//
//	<!-- run exit=3 -->
//	```console
//	$ tokentape run --url 127.0.0.1:1 --dataset data.jsonl
//	tokentape: …
//	```
//
// Without exit= the last command must exit 0; the ones before always must. The
// blocks of one document run in order in one fresh copy of the project, with a
// just built tokentape first in PATH; what they leave in the background lives
// until the document ends. TOKENTAPE_DOCS=1 switches the run on.
package docstest
