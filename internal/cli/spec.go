package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tokentape/internal/spec"
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
