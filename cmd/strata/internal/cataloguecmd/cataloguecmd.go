// Package cataloguecmd contains the commands `strata catalogue` and `strata order`.
package cataloguecmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/teams"
)

// Options connect the commands to the command line of strata. All fields are required.
type Options struct {
	Out io.Writer
	// Root returns the folder of teams.yaml and of the organisation's own entries.
	Root func() (string, error)
	// Arguments makes errors of a check of the positional arguments errors of usage.
	Arguments func(cobra.PositionalArgs) cobra.PositionalArgs
	// Usage turns an error into one about the arguments of the call.
	Usage func(error) error
	// Group turns a command into a group of subcommands.
	Group func(*cobra.Command, ...*cobra.Command) *cobra.Command
}

// New returns the command catalogue with its subcommands.
func New(o Options) *cobra.Command {
	return o.Group(&cobra.Command{
		Use:   "catalogue",
		Short: "Show what teams can order, and check the entries",
		Long: `Show what teams can order, and check the entries.

An entry is a folder below catalogue/ with entry.yaml, the schema of its kind, and program.yaml, the Program that runs for each
order. Strata contains entries of its own; a folder of the same name in this repository replaces one. Teams can order the
entries that teams.yaml lists under catalogue, after strata up.`,
		Example: `  strata catalogue list
  strata catalogue show database`,
	}, o.list(), o.show(), o.lint())
}

// errLint means that lint found problems, which it has printed.
var errLint = errors.New("the catalogue has problems: correct the files that they name")

// entries are the entries that a platform knows.
type entries struct {
	// own is the folder in the repository.
	own fs.FS
	// offered are the entries of teams.yaml.
	offered map[string]teams.Offer
}

func (o Options) open() (entries, error) {
	root, err := o.Root()
	if err != nil {
		return entries{}, err
	}
	file, err := teams.Load(filepath.Join(root, "teams.yaml"))
	if err != nil {
		return entries{}, err
	}
	found := entries{own: os.DirFS(filepath.Join(root, catalogue.Folder)), offered: map[string]teams.Offer{}}
	for _, offer := range file.Catalogue {
		found.offered[offer.Name] = offer
	}
	return found, nil
}

// names returns the names of all entries, sorted.
func (e entries) names() ([]string, error) {
	own, err := catalogue.List(e.own)
	if err != nil {
		return nil, err
	}
	stratas, err := catalogue.List(catalogue.Files)
	all := slices.Concat(own, stratas)
	slices.Sort(all)
	return slices.Compact(all), err
}

// from returns the folder that has an entry: the repository's, or Strata's own.
func (e entries) from(name string) fs.FS {
	if own, err := catalogue.List(e.own); err == nil && slices.Contains(own, name) {
		return e.own
	}
	return catalogue.Files
}

// load returns the entry of a kind, which may be written as the kind or as the entry's name.
func (e entries) load(kind string) (*catalogue.Entry, error) {
	name := strings.ToLower(kind)
	names, err := e.names()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("the catalogue has no entry %q: it has %s", kind, strings.Join(names, ", "))
	}
	return catalogue.Load(e.from(name), name)
}

func (o Options) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the entries of the catalogue", Example: "  strata catalogue list", Args: o.Arguments(positional.None),
		RunE: func(*cobra.Command, []string) error {
			all, err := o.open()
			if err != nil {
				return err
			}
			names, err := all.names()
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tKIND\tOFFERED\tDESCRIPTION")
			for _, name := range names {
				entry, err := all.load(name)
				if err != nil {
					return err
				}
				offered := "no"
				if offer, is := all.offered[name]; is {
					offered = fmt.Sprintf("%d per team", offer.PerTeam)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, entry.Names.Kind, offered, entry.Description)
			}
			return table.Flush()
		},
	}
}

func (o Options) show() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show what an order of an entry can say, and what a team gets", Example: "  strata catalogue show database",
		Args: o.Arguments(positional.One),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := o.open()
			if err != nil {
				return err
			}
			entry, err := all.load(args[0])
			if err != nil {
				return o.Usage(err)
			}
			fmt.Fprintf(o.Out, "%s (%s.%s)\n%s\n\n", entry.Names.Kind, entry.Names.Plural, catalogue.Group, entry.Description)
			table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "FIELD\tVALUES\tDEFAULT\tDESCRIPTION")
			for _, field := range entry.Fields() {
				fmt.Fprintf(table, "spec.%s\t%s\t%s\t%s\n", field.Name, field.Values, field.Default, field.Description)
			}
			for _, result := range []struct {
				kind string
				keys map[string]string
			}{{"SECRET", entry.Results.Secret}, {"CONFIGMAP", entry.Results.ConfigMap}} {
				if len(result.keys) == 0 {
					continue
				}
				fmt.Fprintf(table, "\n%s NAME-%s\n", result.kind, entry.Name)
				for _, key := range slices.Sorted(maps.Keys(result.keys)) {
					fmt.Fprintf(table, "%s\t%s\n", key, result.keys[key])
				}
			}
			return table.Flush()
		},
	}
}

func (o Options) lint() *cobra.Command {
	return &cobra.Command{
		Use: "lint", Short: "Check the entries of the catalogue, and that teams.yaml offers no other", Example: "  strata catalogue lint",
		Args: o.Arguments(positional.None),
		RunE: func(*cobra.Command, []string) error {
			all, err := o.open()
			if err != nil {
				return err
			}
			names, err := all.names()
			if err != nil {
				return err
			}
			var problems []string
			for _, name := range names {
				problems = append(problems, catalogue.Lint(all.from(name), name)...)
			}
			for _, name := range slices.Sorted(maps.Keys(all.offered)) {
				if !slices.Contains(names, name) {
					problems = append(problems, fmt.Sprintf("teams.yaml offers %s, which has no folder below %s", name, catalogue.Folder))
				}
			}
			for _, problem := range problems {
				fmt.Fprintln(o.Out, problem)
			}
			if len(problems) > 0 {
				return errLint
			}
			fmt.Fprintf(o.Out, "%s: no problems\n", strings.Join(names, ", "))
			return nil
		},
	}
}

// Order returns the command order.
func Order(o Options) *cobra.Command {
	command := &cobra.Command{
		Use: "order KIND NAME", Short: "Print an order of the catalogue as YAML, for a team to commit",
		Long: `Print an order of the catalogue as YAML, for a team to commit. The command checks the fields by the entry's schema, and needs no
running platform. strata catalogue show lists the fields and the keys of the results.`,
		Example: `  strata order Database orders
  strata order Database orders --set onDelete=delete`,
		Args: o.Arguments(func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("strata order: give the kind and a name, such as Database orders")
			}
			return nil
		}),
	}
	set := command.Flags().StringToString("set", nil, "a field of the order and its value, such as onDelete=delete; repeatable")
	command.RunE = func(_ *cobra.Command, args []string) error {
		all, err := o.open()
		if err != nil {
			return err
		}
		entry, err := all.load(args[0])
		if err != nil {
			return o.Usage(err)
		}
		if _, is := all.offered[entry.Name]; !is {
			return fmt.Errorf("this platform does not offer %s: the platform team adds it to teams.yaml under catalogue", entry.Name)
		}
		text, err := entry.Order(args[1], *set)
		if err != nil {
			return o.Usage(err)
		}
		_, err = o.Out.Write(text)
		return err
	}
	return command
}
