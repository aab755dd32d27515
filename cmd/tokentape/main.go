// Command tokentape measures how fast an LLM server really is.
package main

import (
	"os"

	"tokentape/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
