package cataloguecmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/breaking"
)

// Linted is the output of catalogue lint.
type Linted struct {
	Entries []string `json:"entries"`
	// Problems are what lint refuses, the orders that would break among them.
	Problems []string `json:"problems"`
	// Breaking describes changes of a schema that break no existing order: an order that no longer fits may still be in a
	// repository.
	Breaking []string `json:"breaking"`
	// Compared says that the schemas were compared with the kinds and orders of the running platform.
	Compared bool `json:"compared"`
}

func (o commands) lint() *cobra.Command {
	command := &cobra.Command{
		Use: "lint", Short: "Check the entries of the catalogue, and the orders that a change of them would break", Example: "  strata catalogue lint",
		Long: `Check the entries of the catalogue, and that teams.yaml offers no other.

If the platform runs, the command compares each schema with the kind in the cluster. It names the orders that the change would
break, for which strata up refuses it, and the changes that would break an order that does not exist yet.`,
		Args: o.Arguments(positional.None),
	}
	call := o.Bind(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		all, err := o.open()
		if err != nil {
			return err
		}
		found := Linted{Problems: []string{}, Breaking: []string{}}
		if found.Entries, err = all.Names(); err != nil {
			return err
		}
		for _, name := range found.Entries {
			found.Problems = append(found.Problems, all.Lint(name)...)
		}
		for _, name := range slices.Sorted(maps.Keys(all.offered)) {
			if !slices.Contains(found.Entries, name) {
				found.Problems = append(found.Problems, fmt.Sprintf("teams.yaml offers %s, which has no folder below %s: create the folder, or remove the entry from teams.yaml", name, catalogue.Folder))
			}
		}
		if len(found.Problems) == 0 {
			// An entry with a problem has no schema to compare.
			o.compare(command.Context(), call, &found)
		}
		err = call.Print(o.Out, found, func() error {
			for _, text := range slices.Concat(found.Problems, found.Breaking) {
				fmt.Fprintln(o.Out, line(text))
			}
			if len(found.Problems) == 0 {
				fmt.Fprintf(o.Out, "%s: no problems\n", strings.Join(found.Entries, ", "))
			}
			return nil
		})
		if err == nil && len(found.Problems) > 0 {
			return errLint
		}
		return err
	}
	return command
}

// compare adds what changes for the orders of the running platform. Lint also runs where there is none, as in continuous
// integration.
func (o commands) compare(ctx context.Context, call cli.Call, found *Linted) {
	platform, err := call.Platform()
	var changes []breaking.Change
	if err == nil {
		changes, found.Compared, err = platform.Orders().Changes(ctx)
	}
	if err != nil {
		fmt.Fprintf(o.Err, "not compared with the orders of the platform: %s\n", line(err.Error()))
		return
	}
	found.add(changes)
}

// add adds changes: those that break an order to the problems.
func (l *Linted) add(changes []breaking.Change) {
	for _, change := range changes {
		at := "catalogue entry " + change.Entry + ": "
		for _, order := range change.Broken {
			l.Problems = append(l.Problems, at+"breaks "+order.String())
		}
		if change.More > 0 {
			l.Problems = append(l.Problems, fmt.Sprintf("%sbreaks %d more orders", at, change.More))
		}
		for _, text := range change.Breaking {
			l.Breaking = append(l.Breaking, at+"breaking change: "+text)
		}
	}
}
