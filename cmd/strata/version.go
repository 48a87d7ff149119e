package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print strata's version",
		Example: "  strata version",
		Args:    arguments(noArguments),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(io.out, version)
			return nil
		},
	}
}
