package cataloguecmd

import (
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/terminal"
)

// longest is the maximum length of a text of an entry in characters.
const longest = 500

// line makes a text of an entry safe for a terminal. An entry may come from a repository that somebody else writes.
func line(text string) string { return terminal.Line(text, longest) }

// Listed is an entry in the output of catalogue list.
type Listed struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Description string `json:"description"`
	// PerTeam is the number of orders that each team may have; zero if teams.yaml does not offer the entry.
	PerTeam int `json:"perTeam"`
}

func (o commands) list() *cobra.Command {
	var output cli.Output
	command := &cobra.Command{
		Use: "list", Short: "List the entries of the catalogue", Example: "  strata catalogue list", Args: o.Arguments(positional.None),
		RunE: func(*cobra.Command, []string) error {
			all, err := o.open()
			if err != nil {
				return err
			}
			names, err := all.Names()
			if err != nil {
				return err
			}
			found := []Listed{}
			for _, name := range names {
				entry, err := all.Load(name)
				if err != nil {
					return err
				}
				found = append(found, Listed{name, entry.Names.Kind, entry.Description, all.offered[name].PerTeam})
			}
			return output.Print(o.Out, found, func() error {
				table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tKIND\tOFFERED\tDESCRIPTION")
				for _, each := range found {
					offered := "no"
					if each.PerTeam > 0 {
						offered = fmt.Sprintf("%d per team", each.PerTeam)
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", line(each.Name), line(each.Kind), offered, line(each.Description))
				}
				return table.Flush()
			})
		},
	}
	output.Bind(command)
	return command
}

// Shown is the output of catalogue show.
type Shown struct {
	Name        string            `json:"name"`
	Kind        string            `json:"kind"`
	Plural      string            `json:"plural"`
	Group       string            `json:"group"`
	Description string            `json:"description"`
	Fields      []catalogue.Field `json:"fields"`
	// Secret and ConfigMap describe the keys of the results.
	Secret    map[string]string `json:"secret,omitempty"`
	ConfigMap map[string]string `json:"configMap,omitempty"`
}

func (o commands) show() *cobra.Command {
	var output cli.Output
	command := &cobra.Command{
		Use: "show NAME", Short: "Show the fields of an order, and the results that a team gets", Example: "  strata catalogue show database",
		Args: o.Arguments(positional.One), ValidArgsFunction: complete.One(o.kinds),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := o.open()
			if err != nil {
				return err
			}
			e, err := all.find(args[0])
			if err != nil {
				return o.Usage(err)
			}
			found := Shown{e.Name, e.Names.Kind, e.Names.Plural, catalogue.Group, e.Description, e.Fields(), e.Results.Secret, e.Results.ConfigMap}
			return output.Print(o.Out, found, func() error { return o.print(found) })
		},
	}
	output.Bind(command)
	return command
}

func (o commands) print(entry Shown) error {
	fmt.Fprintf(o.Out, "%s (%s.%s)\n%s\n\n", line(entry.Kind), line(entry.Plural), entry.Group, line(entry.Description))
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIELD\tVALUES\tDEFAULT\tDESCRIPTION")
	for _, field := range entry.Fields {
		fmt.Fprintf(table, "spec.%s\t%s\t%s\t%s\n", line(field.Name), line(field.Values), line(field.Default), line(field.Description))
	}
	for _, result := range []struct {
		kind string
		keys map[string]string
	}{{"SECRET", entry.Secret}, {"CONFIGMAP", entry.ConfigMap}} {
		if len(result.keys) == 0 {
			continue
		}
		fmt.Fprintf(table, "\n%s NAME-%s\n", result.kind, entry.Name)
		for _, key := range slices.Sorted(maps.Keys(result.keys)) {
			fmt.Fprintf(table, "%s\t%s\n", line(key), line(result.keys[key]))
		}
	}
	return table.Flush()
}
