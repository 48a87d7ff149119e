// Package cataloguecmd contains the commands `strata catalogue` and `strata order`.
package cataloguecmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
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
	catalogue.Set
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
	found := entries{Set: catalogue.In(filepath.Join(root, catalogue.Folder)), offered: map[string]teams.Offer{}}
	for _, offer := range file.Catalogue {
		found.offered[offer.Name] = offer
	}
	return found, nil
}

// kinds returns the kinds of all entries.
func (o commands) kinds() ([]string, error) {
	all, err := o.open()
	if err != nil {
		return nil, err
	}
	names, err := all.Names()
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, name := range names {
		if entry, err := all.Load(name); err == nil {
			kinds = append(kinds, entry.Names.Kind)
		}
	}
	return kinds, nil
}

// find returns an entry by its name or its kind: the name is the kind in lower case.
func (e entries) find(kind string) (*catalogue.Entry, error) {
	name := strings.ToLower(kind)
	names, err := e.Names()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("the catalogue has no entry %q: its entries are %s", kind, strings.Join(names, ", "))
	}
	return e.Load(name)
}
