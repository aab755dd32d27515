// Command pages writes the pages of all fixtures into a folder, to be looked at:
//
//	go run ./cmd/pages DIR [NAME …]
//
// large is the run of 250,000 requests, made only when it is named.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tokentape/browsertests/fixture"
	"tokentape/internal/report/html"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pages DIR [NAME …]")
		os.Exit(2)
	}
	kinds := fixture.Kinds()
	names := fixture.Names()
	if len(os.Args) > 2 {
		names = os.Args[2:]
	}
	kinds["large"] = fixture.Large()
	for _, name := range names {
		if err := page(filepath.Join(os.Args[1], name+".html"), kinds[name]); err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
	}
}

func page(path string, s fixture.Shape) error {
	start := time.Now()
	res, err := s.Results()
	if err != nil {
		return err
	}
	analysed := time.Since(start)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	start = time.Now()
	w := bufio.NewWriter(f)
	if err := html.Write(w, res, html.Options{}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Printf("%-10s %8d bytes, analysed in %v, written in %v\n", filepath.Base(path), st.Size(), analysed.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
	return nil
}
