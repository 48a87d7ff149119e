package checkcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/check/admission"
	"github.com/strata-platform/strata/internal/check/editor"
	"github.com/strata-platform/strata/internal/check/teamfile"
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

  # yaml-language-server: $schema=.strata-team/schema.json`,
		Example: `  strata schema --team web`,
		Args:    o.Arguments(cobra.NoArgs),
		RunE:    func(command *cobra.Command, _ []string) error { return schema(command, o, f) },
	}
	command.Flags().StringVar(&f.team, "team", "", "name of the team; by default the only team of the file")
	command.Flags().StringVar(&f.teams, "teams", "", "file with the team's entry, in the format of teams.yaml")
	command.Flags().StringVar(&f.schemas, "schemas", "", "folder with schemas of Pulumi's packages, in files NAME-VERSION.json")
	complete.Flag(command, "team", complete.Nothing)
	complete.Flag(command, "teams", complete.Files)
	complete.Flag(command, "schemas", complete.Files)
	return command
}

func schema(command *cobra.Command, o cli.Options, f flags) error {
	team, limits, err := teamfile.Load(teamfile.Source{Repository: ".", File: f.teams, Team: f.team, Fallback: fallback(o)})
	if errors.Is(err, teamfile.ErrTeam) {
		return o.Usage(err)
	}
	if err == nil && team == "" {
		return o.Usage(errors.New("name the team with --team"))
	}
	if err != nil {
		return err
	}
	of := editor.Team{Names: texts(limits.Policy["typeNames"]), Prefixes: texts(limits.Policy["typePrefixes"])}
	if of.Definitions, err = admission.Definitions(limits.Entries); err != nil {
		return err
	}
	found := 0
	for _, folder := range folders(command, o, f.schemas) {
		names, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil {
			return err
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				return fmt.Errorf("read the schema of a package: %w", err)
			}
			pkg, err := editor.ReadPackage(content)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			of.Packages = append(of.Packages, pkg)
			found++
		}
	}
	if found == 0 {
		fmt.Fprintln(o.Err, "note: the schema has no properties of resources: no schemas of Pulumi's packages are here; strata up builds the plugins, or name a folder with --schemas")
	}
	content, err := editor.Schema(of)
	if err != nil {
		return err
	}
	_, err = o.Out.Write(append(content, '\n'))
	return err
}

// texts returns a list of a TenantPolicy.
func texts(list any) []string {
	values, _ := list.([]any)
	all := make([]string, 0, len(values))
	for _, each := range values {
		if text, ok := each.(string); ok {
			all = append(all, text)
		}
	}
	return all
}
