package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/clock"
	"tokentape/internal/plan"
	"tokentape/internal/workload"
)

func (a *app) planCommand() *cobra.Command {
	var out string
	var row int64
	var curl bool
	cmd := &cobra.Command{
		Use:   "plan [spec.yaml]",
		Short: "Show or save what a run would send, without sending it",
		Example: `  tokentape plan spec.yaml                         the rows, one a line
  tokentape plan spec.yaml --out plan.jsonl         for tokentape run --plan
  tokentape plan spec.yaml --show-request 0 --curl  what row 0 sends, as a command`,
		Args: cobra.MaximumNArgs(1),
	}
	f := addSpecFlags(cmd)
	cmd.Flags().StringVar(&out, "out", "", "write the plan to this file, which must not exist yet")
	cmd.Flags().Int64Var(&row, "show-request", -1, "print exactly what row K (its seq) sends, the key masked")
	cmd.Flags().BoolVar(&curl, "curl", false, "with --show-request: as a curl command")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		show := cmd.Flags().Changed("show-request")
		switch {
		case curl && !show:
			return usageError("--curl has no effect without --show-request", "tokentape plan … --show-request 0 --curl")
		case show && out != "":
			return usageError("--out has no effect beside --show-request: it saves the plan", "leave one of them out")
		}
		j, err := a.prepare(args, f, "")
		if err != nil {
			return err
		}
		defer j.close()
		if show {
			if err := j.needServer(strings.Join(args, "")); err != nil {
				return err
			}
			return a.showRequest(cmd, j, row, curl)
		}
		fmt.Fprintln(a.stderr, j.plan)
		if out == "" {
			return j.plan.Write(a.stdout)
		}
		if err := writeNew(out, func(f *os.File) error { return j.plan.Write(f) }); err != nil {
			return usageError(err.Error())
		}
		fmt.Fprintf(a.stderr, "%s: sha256 %s\n", out, j.plan.SHA256())
		return nil
	}
	return cmd
}

// showRequest prints what one row sends: the very bytes of the body.
func (a *app) showRequest(cmd *cobra.Command, j *job, seq int64, curl bool) error {
	row, ok := findRow(j.plan, seq)
	if !ok {
		return usageError(fmt.Sprintf("--show-request %d: the plan has no such row (%s)", seq, j.plan))
	}
	model := j.spec.Target.Model
	if model == "" {
		pre, err := j.preflight(cmd.Context(), clock.New())
		if err != nil {
			return fmt.Errorf("the model is asked of the server, since target.model is empty: %w", err)
		}
		model = pre.Server.Model
	}
	item, err := j.source.Item(row.Item)
	if err != nil {
		return usageError(err.Error())
	}
	session := ""
	if row.Session > 0 {
		session = fmt.Sprintf("RUN-s%d", row.Session)
		talk, err := workload.Converse(item, j.recorded())
		if err != nil {
			return usageError(err.Error())
		}
		var replies []string
		for k := range row.Turn {
			if !j.recorded() {
				replies = append(replies, fmt.Sprintf("(the server's answer to turn %d)", k))
			}
		}
		item = talk.Turn(row.Turn, replies)
	}
	if item.OutputLen == 0 {
		item.OutputLen = row.Output
	}
	x := j.exchanger(clock.New(), nil, model, nil)
	ready, err := x.Prepare(item)
	if err != nil {
		return usageError(err.Error())
	}
	method, url, header, body := x.Show(ready, fmt.Sprintf("RUN-%d", seq), session)
	if curl {
		return writeCurl(a.stdout, method, url, header, body)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", method, url)
	for _, k := range sortedKeys(header) {
		fmt.Fprintf(&b, "%s: %s\n", k, strings.Join(header[k], ", "))
	}
	fmt.Fprintf(&b, "\n%s\n", body)
	_, err = a.stdout.Write(b.Bytes())
	return err
}

func findRow(p *plan.Plan, seq int64) (plan.Row, bool) {
	if seq < 0 {
		return plan.Row{}, false
	}
	return p.At(seq) // rows stand in the order of seq
}

func writeCurl(w io.Writer, method, url string, header http.Header, body []byte) error {
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sN -X %s %s", method, shellQuote(url))
	for _, k := range sortedKeys(header) {
		for _, v := range header[k] {
			fmt.Fprintf(&b, " \\\n  -H %s", shellQuote(k+": "+v))
		}
	}
	fmt.Fprintf(&b, " \\\n  --data-binary %s\n", shellQuote(string(body)))
	_, err := io.WriteString(w, b.String())
	return err
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func sortedKeys[V any](h map[string]V) []string {
	keys := make([]string, 0, len(h))
	for k := range h {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
