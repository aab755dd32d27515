package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tokentape/internal/spec"
	"tokentape/internal/sweep"
)

func (a *app) specCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "spec", Short: "Check a spec, or print the schema of specs"}
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a spec and print it as resolved, secrets masked",
		Args:  cobra.ExactArgs(1),
	}
	f := addSpecFlags(check)
	check.RunE = func(cmd *cobra.Command, args []string) error {
		s, notes, err := a.loadSpec(args, f)
		if err != nil {
			return err
		}
		for _, n := range notes {
			fmt.Fprintln(a.stderr, "note:", n)
		}
		if err := a.checkPoints(args, f, s); err != nil {
			return err
		}
		_, err = a.stdout.Write(s.YAML())
		return err
	}
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of specs, for editors",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := a.stdout.Write(append(spec.Schema(), '\n'))
			return err
		},
	}
	cmd.AddCommand(check, schema)
	return cmd
}

// checkPoints reads the spec of every point of a sweep.
func (a *app) checkPoints(args []string, f *specFlags, s *spec.Spec) error {
	if s.Sweep.IsZero() {
		return nil
	}
	places, err := sweep.Expand(s)
	if err != nil {
		return usageError(err.Error(), "fewer values in sweep.over, or sweep.most_points")
	}
	for _, p := range places {
		one := *f
		one.point = p.Sets
		if _, _, err := a.loadSpec(args, &one); err != nil {
			var e *exitError
			if errors.As(err, &e) {
				return &exitError{code: e.code, msg: fmt.Sprintf("point %s: %s", p.Name, e.msg), hints: e.hints}
			}
			return err
		}
	}
	fmt.Fprintf(a.stderr, "%d points over %v\n", len(places), sweep.Fields(s))
	return nil
}
