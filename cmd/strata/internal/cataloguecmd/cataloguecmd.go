// Package cataloguecmd contains the commands `strata catalogue` and `strata order`.
package cataloguecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/teams"
)

// commands are the commands of the catalogue on one command line.
type commands struct{ cli.Options }

// New returns the command catalogue with its subcommands.
func New(options cli.Options) *cobra.Command {
	o := commands{options}
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

func (o commands) open() (entries, error) {
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

// names returns the names of all entries, sorted. An entry of the repository and one of Strata with the same name count once.
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

// kinds returns the kinds of all entries.
func (o commands) kinds() ([]string, error) {
	all, err := o.open()
	if err != nil {
		return nil, err
	}
	names, err := all.names()
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, name := range names {
		if entry, err := all.load(name); err == nil {
			kinds = append(kinds, entry.Names.Kind)
		}
	}
	return kinds, nil
}

// from returns the folder that has an entry: the repository's, or Strata's own.
func (e entries) from(name string) fs.FS {
	if own, err := catalogue.List(e.own); err == nil && slices.Contains(own, name) {
		return e.own
	}
	return catalogue.Files
}

// load returns an entry by its name or its kind: the name is the kind in lower case.
func (e entries) load(kind string) (*catalogue.Entry, error) {
	name := strings.ToLower(kind)
	names, err := e.names()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("the catalogue has no entry %q: its entries are %s", kind, strings.Join(names, ", "))
	}
	return catalogue.Load(e.from(name), name)
}

// Order returns the command order.
func Order(options cli.Options) *cobra.Command {
	o := commands{options}
	command := &cobra.Command{
		Use: "order KIND NAME", Short: "Print an order of the catalogue as YAML, for a team to commit",
		Long: `Print an order of the catalogue as YAML, for a team to commit. The command checks the fields against the entry's schema, and
needs no running platform. strata catalogue show lists the fields and the keys of the results.`,
		Example: `  strata order Database orders
  strata order Database orders --set onDelete=delete`,
		Args: o.Arguments(func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("strata order: give the kind and a name, such as Database orders")
			}
			return nil
		}),
	}
	command.ValidArgsFunction = complete.One(o.kinds)
	set := command.Flags().StringToString("set", nil, "a field of the order and its value, such as onDelete=delete; repeatable")
	complete.Flag(command, "set", complete.Nothing)
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
			return fmt.Errorf("this platform does not offer %s: ask the platform team to add it to teams.yaml under catalogue", entry.Name)
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
