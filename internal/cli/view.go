package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tokentape/internal/clock"
	"tokentape/internal/report/html"
	"tokentape/internal/view"
)

// viewFlags are the flags of view.
type viewFlags struct {
	addr, lang string
	expose     bool
	hosts      []string
	stopAfter  time.Duration
}

func (a *app) viewCommand() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view [DIR]",
		Short: "A local page over a folder of runs: list, open, compare",
		Long: `view serves a page over a folder of runs until Ctrl-C. Its address goes to stdout.
The page lists all runs, packs and tapes below DIR (default: runs), sorts and filters
them, opens one as its report.html, and lays the charts of two or more over each
other, with what tokentape compare says of them. New runs appear by themselves.

It writes nothing, answers this machine alone, and reads nothing outside of DIR:
symbolic links are not followed. With --expose others can reach it, if they know the
token in its address. It speaks plain HTTP; from elsewhere rather forward a port:
ssh -L 8080:127.0.0.1:PORT HOST.`,
		Example: `  tokentape view
  tokentape view runs/first-run
  tokentape view runs --addr 127.0.0.1:8080 --lang zh
  tokentape view runs --addr 0.0.0.0:8080 --expose --host gpu-box`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.view(cmd, args, &f) },
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:0", "address to listen at; port 0: a free one")
	cmd.Flags().BoolVar(&f.expose, "expose", false, "let --addr be another than a loopback address; whoever has the token can then read the runs")
	cmd.Flags().StringSliceVar(&f.hosts, "host", nil, "a name that it is reached by, beside addresses, localhost and this machine's name; may be repeated")
	cmd.Flags().DurationVar(&f.stopAfter, "for", 0, "end after this time; 0: on Ctrl-C")
	cmd.Flags().StringVar(&f.lang, "lang", "", "language in which pages begin: "+strings.Join(html.Languages(), " or ")+"; their reader can change it")
	return cmd
}

func (a *app) view(cmd *cobra.Command, args []string, f *viewFlags) error {
	dir := "runs"
	if len(args) == 1 {
		dir = args[0]
	}
	o := view.Options{Dir: dir, Lang: f.lang, Hosts: f.hosts}
	st, err := os.Stat(dir)
	switch {
	case f.lang != "" && !slices.Contains(html.Languages(), f.lang):
		return usageError(fmt.Sprintf("--lang %s: unknown", f.lang), strings.Join(html.Languages(), " or "))
	case f.stopAfter < 0:
		return usageError("--for must not be negative")
	case err != nil:
		return usageError(err.Error(), "the folder of runs: tokentape view DIR; runs lie in runs/NAME/TIME unless they were told otherwise")
	case !st.IsDir():
		return usageError(dir+" is a file, and view is over a folder", "tokentape view "+filepath.Dir(dir)+"; one run alone: tokentape report "+dir+" --format html --out report.html")
	case !loopback(f.addr) && !f.expose:
		return usageError(f.addr+" is not a loopback address: others could read the runs", "from another machine: ssh -L 8080:127.0.0.1:PORT HOST", "or, to whoever has the token in its address: add --expose")
	}
	if f.expose && !loopback(f.addr) {
		o.Token = view.NewToken()
		if name, err := os.Hostname(); err == nil {
			o.Hosts = append(slices.Clip(o.Hosts), name)
		}
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if f.stopAfter > 0 {
		end := clock.New().AfterFunc(int64(f.stopAfter), stop)
		defer end.Stop()
	}
	s, err := view.New(o)
	if err != nil {
		return usageError(err.Error())
	}
	defer s.Close()
	ln, err := net.Listen("tcp", f.addr)
	if err != nil {
		return usageError(err.Error(), "a free port: --addr 127.0.0.1:0")
	}
	fmt.Fprintln(a.stdout, viewURL(ln.Addr(), o))
	fmt.Fprintf(a.stderr, "runs below %s; nothing is written; Ctrl-C ends it\n", dir)
	if err := s.Serve(ctx, ln); err != nil {
		return &exitError{code: exitInternal, msg: "view: " + err.Error()}
	}
	return nil
}

// viewURL is the address for a browser: of all addresses the one by this machine's name.
func viewURL(addr net.Addr, o view.Options) string {
	host := addr.String()
	if t, ok := addr.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		name := "127.0.0.1"
		if len(o.Hosts) > 0 {
			name = o.Hosts[0]
		}
		host = net.JoinHostPort(name, fmt.Sprint(t.Port))
	}
	url := "http://" + host + "/"
	if o.Token != "" {
		url += "?token=" + o.Token
	}
	return url
}
