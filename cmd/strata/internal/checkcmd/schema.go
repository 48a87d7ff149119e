package checkcmd

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/check/kept"
	"github.com/strata-platform/strata/internal/check/teamfile"
	"github.com/strata-platform/strata/internal/local/schemas"
)

// Schema returns the command schema.
func Schema(o cli.Options) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a team's Programs, Stacks and orders, for editors",
		Long: `Print the JSON Schema of a team's Programs, Stacks and orders, for editors. It contains exactly the resource types that the
team may declare, with their properties, and has at most 512 KB: a larger one loses its descriptions first.

yaml-language-server reads the schema of a file from a comment in the first line of the file:

  ` + strings.TrimSpace(kept.Modeline) + `

With --write, the command writes the schema and the team's entry of teams.yaml into a clone of the team's repository, which
strata check and editors read. A new repository contains both. Run it again, and commit the files, when the platform has
changed what the team may declare.`,
		Example: `  strata schema --team web
  strata schema --team web --write ../web`,
		Args: o.Arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error { return schema(command, o, f) },
	}
	command.Flags().StringVar(&f.team, "team", "", "name of the team; by default the only team of the file")
	command.Flags().StringVar(&f.teams, "teams", "", "file with the team's entry, in the format of teams.yaml")
	command.Flags().StringVar(&f.schemas, "schemas", "", "folder with schemas of Pulumi's packages, in files NAME-VERSION.json")
	command.Flags().StringVar(&f.write, "write", "", "clone of the team's repository, to write the schema and the team's entry to")
	complete.Flag(command, "write", complete.Files)
	complete.Flag(command, "team", complete.Nothing)
	complete.Flag(command, "teams", complete.Files)
	complete.Flag(command, "schemas", complete.Files)
	return command
}

func schema(command *cobra.Command, o cli.Options, f flags) error {
	from := teamfile.Source{Repository: ".", File: f.teams, Team: f.team, Fallback: fallback(o)}
	list, err := teamfile.File(from)
	if err == nil && list == "" {
		return o.Usage(errors.New("name the team with --team"))
	}
	if errors.Is(err, teamfile.ErrTeam) {
		return o.Usage(err)
	}
	if err != nil {
		return err
	}
	files, complete, err := kept.Files(list, f.team, schemas.Folders(command.Context(), o.Toolchain, f.schemas)...)
	if errors.Is(err, teamfile.ErrTeam) {
		return o.Usage(err)
	}
	if err != nil {
		return err
	}
	if !complete {
		fmt.Fprintln(o.Err, "note: the schema has no properties of resources: no schemas of Pulumi's packages are here; strata up builds the plugins, or name a folder with --schemas")
	}
	if f.write == "" {
		_, err = o.Out.Write(files[kept.SchemaFile])
		return err
	}
	if err := kept.Write(f.write, files); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintln(o.Out, filepath.Join(f.write, name))
	}
	return nil
}
