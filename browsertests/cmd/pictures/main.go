// Command pictures photographs pages for the documents:
//
//	go run ./cmd/pictures DIR [NAME …]
//
// It needs Chromium, and for the Chinese page a font of that script (Debian:
// fonts-wqy-zenhei). Pages are those of fixtures, which are the same each time; fonts
// differ from machine to machine, and so do the bytes of the pictures.
package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tokentape/browsertests/fixture"
	"tokentape/internal/report/html"
)

// shot is one picture. do is run in the page before it is taken, from the top of at.
type shot struct {
	name, page    string
	dark          bool
	lang          string
	width, height int64
	at, do        string
}

var shots = []shot{
	{name: "report-light", page: "ordinary", width: 1280, height: 900},
	{name: "report-dark", page: "ordinary", dark: true, lang: "zh", width: 1280, height: 900, at: "#time"},
	{name: "report-request", page: "ordinary", width: 1280, height: 900, at: "#requests", do: `document.querySelector('#windows button[data-go^="steady|ttft_ms|p99|"]').click()`},
	{name: "report-wide", page: "ordinary", width: 1920, height: 900, at: "#dist"},
	{name: "report-narrow", page: "ordinary", width: 390, height: 844},
	{name: "report-empty", page: "empty", width: 1280, height: 700},
	{name: "report-one", page: "one", width: 1280, height: 900},
	{name: "report-failed", page: "failed", width: 1280, height: 900},
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures DIR [NAME …]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, names []string) error {
	pages, err := os.MkdirTemp("", "tokentape-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(pages)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	if path := os.Getenv("CHROMIUM"); path != "" {
		opts = append(opts, chromedp.ExecPath(path))
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	for _, s := range shots {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		b, err := s.take(alloc, pages)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		path := filepath.Join(dir, s.name+".png")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", path, len(b))
	}
	return nil
}

func (s shot) take(alloc context.Context, dir string) ([]byte, error) {
	res, err := fixture.Kinds()[s.page].Results()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, s.name+".html")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := html.Write(f, res, html.Options{Lang: s.lang}); err != nil {
		return nil, err
	}
	ctx, end := chromedp.NewContext(alloc)
	defer end()
	ctx, late := context.WithTimeout(ctx, 2*time.Minute)
	defer late()
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	steps := `(async () => {
		const frames = async (n) => { for (let i = 0; i < n; i++) await new Promise(requestAnimationFrame); };
		` + s.do + `;
		await frames(4);
		` + scroll(s.at) + `;
		await frames(8);
	})()`
	var shown []byte
	err = chromedp.Run(ctx,
		chromedp.EmulateViewport(s.width, s.height),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate("file://"+path), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery),
		chromedp.Evaluate(steps, nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
		chromedp.CaptureScreenshot(&shown))
	if err != nil {
		return nil, err
	}
	return small(shown)
}

// apart is the square of the distance of two colours.
func apart(a, b color.RGBA) int {
	r, g, l := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + l*l
}

func scroll(at string) string {
	if at == "" {
		return ""
	}
	return fmt.Sprintf("document.querySelector(%q).scrollIntoView()", at)
}

// small is a picture in at most 160 colours: those that most pixels have and that differ
// from each other, and for the others, which are the edges of letters, the nearest of
// them.
func small(shown []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(shown))
	if err != nil {
		return nil, err
	}
	size := img.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA) }
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if n := count[b] - count[a]; n != 0 {
			return n
		}
		return (int(a.R)<<16 | int(a.G)<<8 | int(a.B)) - (int(b.R)<<16 | int(b.G)<<8 | int(b.B))
	})
	var palette color.Palette
	for _, c := range all {
		if len(palette) == 160 {
			break
		}
		if !slices.ContainsFunc(palette, func(p color.Color) bool { return apart(c, p.(color.RGBA)) < 150 }) {
			palette = append(palette, c)
		}
	}
	out := image.NewPaletted(size, palette)
	nearest := map[color.RGBA]uint8{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			c := at(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	err = e.Encode(&b, out)
	return b.Bytes(), err
}
