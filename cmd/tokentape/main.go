// Command tokentape measures how fast an LLM server really is.
package main

import (
	"io"
	"log"
	"os"

	"tokentape/internal/cli"
)

func main() {
	// net/http reports oddities of servers through package log; what matters of
	// them is on the tape.
	log.SetOutput(io.Discard)
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
