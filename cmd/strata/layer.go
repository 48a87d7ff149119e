package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/progress"
)

func newLayer(io streams) *cobra.Command {
	return group(&cobra.Command{
		Use:   "layer",
		Short: "Run one Pulumi layer: bootstrap or platform",
		Example: `  strata layer preview bootstrap
  strata layer up bootstrap
  strata layer outputs bootstrap -o json
  strata layer destroy platform --yes`,
	},
		newLayerOperation(io, "up", "Bring a layer to what its program says", (*local.Platform).LayerUp, false),
		newLayerOperation(io, "preview", "Show what up would do", (*local.Platform).LayerPreview, false),
		newLayerOperation(io, "destroy", "Delete all resources of a layer", (*local.Platform).LayerDestroy, true),
		newLayerOutputs(io),
	)
}

type layerOperation func(*local.Platform, context.Context, string, layers.Progress) (layers.Summary, error)

// layerArgument is the one argument of every layer command.
func layerArgument() cobra.PositionalArgs {
	return arguments(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs))
}

func newLayerOperation(io streams, verb, short string, do layerOperation, destructive bool) *cobra.Command {
	var t target
	var o output
	var yes bool
	command := &cobra.Command{
		Use:       verb + " LAYER",
		Short:     short,
		Example:   "  strata layer " + verb + " bootstrap",
		ValidArgs: []string{local.BootstrapLayer, local.PlatformLayer},
		Args:      layerArgument(),
		RunE: func(command *cobra.Command, args []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			p, err := t.open()
			if err != nil {
				return err
			}
			if destructive && !yes {
				if err := confirm(io, "Destroy layer "+args[0]+"?"); err != nil {
					return err
				}
			}
			show := progress.New(io.err)
			if err := p.Prepare(command.Context(), show); err != nil {
				return err
			}
			var summary layers.Summary
			err = show.Run(verb+" layer "+args[0], func() (string, error) {
				summary, err = do(p, command.Context(), args[0], func(operation, resource string) {
					show.Detail("%s %s", operation, resource)
				})
				return summary.String(), err
			})
			if err != nil || !asJSON {
				return err
			}
			return printJSON(io.out, map[string]any{"layer": args[0], "changes": summary.Changes})
		},
	}
	t.bind(command)
	o.bind(command)
	if destructive {
		command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	}
	return command
}

const hiddenSecret = "[secret]"

func newLayerOutputs(io streams) *cobra.Command {
	var t target
	var o output
	var show bool
	command := &cobra.Command{
		Use:       "outputs LAYER",
		Short:     "Print what a layer hands on",
		Example:   "  strata layer outputs bootstrap -o json",
		ValidArgs: []string{local.BootstrapLayer, local.PlatformLayer},
		Args:      layerArgument(),
		RunE: func(command *cobra.Command, args []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			p, err := t.open()
			if err != nil {
				return err
			}
			outputs, err := p.LayerOutputs(command.Context(), args[0])
			if err != nil {
				return err
			}
			values := map[string]any{}
			for name, value := range outputs {
				values[name] = value.Value
				if value.Secret && !show {
					values[name] = hiddenSecret
				}
			}
			if asJSON {
				return printJSON(io.out, values)
			}
			for _, name := range slices.Sorted(maps.Keys(values)) {
				fmt.Fprintf(io.out, "%s: %v\n", name, values[name])
			}
			return nil
		},
	}
	t.bind(command)
	o.bind(command)
	command.Flags().BoolVar(&show, "show-secrets", false, "print secrets in plain text")
	return command
}
