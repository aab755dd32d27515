// Command bench measures what tokentape costs and how true its stamps are, beside a
// bare reference client of a few dozen lines in the same run:
//
//	go run ./bench                       all cases, about half an hour
//	go run ./bench -short -only cpu      one of them, quickly
//
// In: flags, this machine. Out: a table on standard output and, with -json, a file; with
// -guard an exit status. Server, client under test and reference are each a process of
// its own: this same program, started again in a role. What is compared ran in
// interleaved pairs. It must never reach another host, never judge a ratio whose two
// sides did not run in the same minute, and never let the client under test know that it
// is being measured: it goes the way of tokentape run, its tape recorded.
package main
