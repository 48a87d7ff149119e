package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/positional"
)

func newVersion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print strata's version",
		Example: "  strata version",
		Args:    arguments(positional.None),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(io.out, version)
			return nil
		},
	}
}
