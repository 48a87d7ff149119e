// Package checkcmd contains the commands `strata check` and `strata schema`.
package checkcmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/check/kept"
	"github.com/strata-platform/strata/internal/check/program"
	"github.com/strata-platform/strata/internal/check/report"
	"github.com/strata-platform/strata/internal/check/teamfile"
	"github.com/strata-platform/strata/internal/local/schemas"
)

// writers are the formats of the report.
var writers = map[string]func(io.Writer, *check.Report) error{
	"text": report.Text, "github": report.GitHub, "sarif": report.SARIF,
	"json": func(w io.Writer, result *check.Report) error { return render.JSON(w, result) },
	"yaml": func(w io.Writer, result *check.Report) error { return render.YAML(w, result) },
}

// flags are the values of the flags of one call.
type flags struct {
	team, teams, output, schemas, write string
	skip                                []string
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "check [PATH]",
		Short: "Check a team's repository before a push, without a cluster",
		Long: `Check a team's repository before a push, without a cluster. The command

  1. builds the folders that Flux applies, with the limits and the rules of the Git server.
  2. judges each object as the API server would: its kind and its fields, the permissions of the team's account, and the
     admission policies with the parameters of the team.
  3. checks each Program as the operator would, and the types of its resources against the schemas of Pulumi's packages.

PATH is the root of the repository; the default is the current folder. The repository's own ` + teamfile.Folder + `/` + teamfile.Name + ` says what the
platform allows the team; with --team, the teams.yaml of the platform's repository does. The command contacts no server and
starts no program of the repository.

It exits with 0 without findings, with 1 with findings, and with 2 if the call is wrong. -o github prints workflow commands
for GitHub Actions, -o sarif a SARIF log.`,
		Example: `  strata check
  strata check ../web --team web -o sarif
  strata check --teams ../platform/teams.yaml --team web --skip unlisted`,
		Args: o.Arguments(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(command *cobra.Command, args []string) error { return run(command, o, f, args) },
	}
	formats := slices.Sorted(maps.Keys(writers))
	command.Flags().StringVar(&f.team, "team", "", "name of the team; by default the only team of the file")
	command.Flags().StringVar(&f.teams, "teams", "", "file with the team's entry, in the format of teams.yaml")
	command.Flags().StringVar(&f.schemas, "schemas", "", "folder with schemas of Pulumi's packages, in files NAME-VERSION.json")
	command.Flags().StringVarP(&f.output, cli.OutputFlag, "o", "text", "format of the findings: "+strings.Join(formats, ", "))
	command.Flags().StringSliceVar(&f.skip, "skip", nil, "rules whose findings do not count")
	complete.Flag(command, cli.OutputFlag, complete.Values(formats...))
	complete.Flag(command, "skip", complete.Values(slices.Sorted(maps.Keys(check.Rules))...))
	complete.Flag(command, "team", complete.Nothing)
	complete.Flag(command, "teams", complete.Files)
	complete.Flag(command, "schemas", complete.Files)
	return command
}

func run(command *cobra.Command, o cli.Options, f flags, args []string) error {
	write := writers[f.output]
	if write == nil {
		return o.Usage(fmt.Errorf("unknown output %q: use %s", f.output, strings.Join(slices.Sorted(maps.Keys(writers)), ", ")))
	}
	for _, each := range f.skip {
		if check.Rules[each] == "" {
			return o.Usage(fmt.Errorf("unknown rule %q: there are %s", each, strings.Join(slices.Sorted(maps.Keys(check.Rules)), ", ")))
		}
	}
	options := check.Options{Folder: ".", Skip: f.skip}
	if len(args) > 0 {
		options.Folder = args[0]
	}
	if info, err := os.Stat(options.Folder); err != nil || !info.IsDir() {
		return o.Usage(fmt.Errorf("%s is not a folder: name the root of a team's repository", options.Folder))
	}
	var err error
	options.Team, options.Limits, err = teamfile.Load(teamfile.Source{Repository: options.Folder, File: f.teams, Team: f.team, Fallback: fallback(o)})
	if errors.Is(err, teamfile.ErrTeam) {
		return o.Usage(err)
	}
	if err != nil {
		return err
	}
	folders := sync.OnceValue(func() []string { return schemas.Folders(command.Context(), o.Toolchain, f.schemas) })
	options.Schemas = sync.OnceValue(func() *program.Schemas { return program.Open(folders()...) })
	notes := sync.OnceValue(func() []string {
		return kept.Outdated(options.Folder, options.Limits, f.teams, options.Team, folders()...)
	})
	go notes()
	// The plugins that return their schemas end before the command does.
	defer options.Schemas()
	result, err := check.Run(command.Context(), options)
	if err != nil {
		return err
	}
	result.Notes = append(result.Notes, notes()...)
	if err := write(o.Out, result); err != nil {
		return err
	}
	switch count := len(result.Findings); count {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 finding in %s: correct it, and check again", options.Folder)
	default:
		return fmt.Errorf("%d findings in %s: correct them, and check again", count, options.Folder)
	}
}

// fallback returns a function for the teams.yaml of the platform's repository.
func fallback(o cli.Options) func() (string, error) {
	return func() (string, error) {
		root, err := o.Root()
		return filepath.Join(root, "teams.yaml"), err
	}
}
