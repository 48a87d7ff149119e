package main

import (
	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/fetchcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/versioncmd"
)

func newVersion(io streams) *cobra.Command {
	return versioncmd.New(versioncmd.Options{
		Out: io.out, Open: openToolchain, Args: arguments(positional.None), Usage: func(err error) error { return usageError{err} },
	})
}

func newToolchainFetch(io streams) *cobra.Command {
	return fetchcmd.New(fetchcmd.Options{
		Out: io.out, Err: io.err, Open: openToolchain, Args: arguments(positional.One), Usage: func(err error) error { return usageError{err} },
		Bind: func(command *cobra.Command) func() (bool, error) { o := &output{}; o.bind(command); return o.json },
	})
}
