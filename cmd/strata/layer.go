package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
)

func newLayer(io streams) *cobra.Command {
	return group(&cobra.Command{
		Use:   "layer",
		Short: "Run one Pulumi layer: bootstrap or platform",
		Example: `  strata layer preview bootstrap
  strata layer up bootstrap
  strata layer outputs bootstrap -o json
  strata layer destroy platform --yes

  # on Google Cloud
  strata layer preview platform --target gke`,
	},
		newLayerOperation(io, layerOperation{verb: "preview", short: "Show the changes that up would make", do: (*lifecycle.Platform).LayerPreview}),
		newLayerOperation(io, layerOperation{
			verb: "up", short: "Create and update the resources that a layer's program declares", do: (*lifecycle.Platform).LayerUp,
		}),
		newLayerOperation(io, layerOperation{
			verb: "destroy", short: "Delete all resources of a layer, unless a higher layer depends on it", do: (*lifecycle.Platform).LayerDestroy, destructive: true,
			long: `Delete all resources of a layer in reverse order, after a confirmation. Destroy layer platform before layer bootstrap:

  platform   deletes the operator, Flux, and the teams' namespaces with all of their objects. The cluster stays. It fails
             while a team has a Stack, because only the operator can destroy the Stack's resources.
  bootstrap  deletes the cluster and the layer's resources in the cloud: the database instance with its
             databases, and the teams' identities. The passphrases of the teams' state are lost with them, so the state
             of the teams' Stacks is lost, too. It fails while layer platform has resources, or with deletionProtection.

If it fails for such a reason, it has changed nothing. The Git repositories stay. On target local the layer's stack is
removed with its resources; with --target gke the empty stack and its configuration stay. strata layer up creates the
layer again. strata down does all of this in order, and destroys the Stacks first.`,
		}),
		newLayerOutputs(io),
	)
}

type layerOperation struct {
	verb, short string
	// long is the long description; empty means that short is enough.
	long string
	do   func(*lifecycle.Platform, context.Context, *progress.Reporter, string) (layers.Summary, error)
	// destructive says that the operation needs a confirmation.
	destructive bool
}

// layerResult is the JSON output of an operation on a layer.
type layerResult struct {
	Layer     string `json:"layer"`
	Operation string `json:"operation"`
	// Changes counts resources by operation.
	Changes map[string]int `json:"changes"`
	// Seconds is the duration of the operation. EngineSeconds is its duration within Pulumi.
	Seconds       float64 `json:"seconds"`
	EngineSeconds float64 `json:"engineSeconds"`
}

// layerArgument accepts exactly one argument, the name of a layer.
func layerArgument() cobra.PositionalArgs {
	return arguments(func(command *cobra.Command, args []string) error {
		if len(args) == 1 && slices.Contains(command.ValidArgs, args[0]) {
			return nil
		}
		err := fmt.Errorf("give one layer: %s", strings.Join(command.ValidArgs, " or "))
		if len(args) > 0 {
			err = fmt.Errorf("%q: %w", strings.Join(args, " "), err)
		}
		return err
	})
}

func newLayerOperation(io streams, op layerOperation) *cobra.Command {
	var t target
	var o cli.Output
	var w cli.Work
	var yes bool
	command := &cobra.Command{
		Use:       op.verb + " LAYER",
		Short:     op.short,
		Long:      op.long,
		Example:   "  strata layer " + op.verb + " bootstrap\n  strata layer " + op.verb + " bootstrap --target gke",
		ValidArgs: []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer},
		Args:      layerArgument(),
		RunE: func(command *cobra.Command, args []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			if op.destructive && !yes && p.Made(args[0]) {
				if err := options(io).Confirm(command.Context(), "Destroy layer "+args[0]+"?"); err != nil {
					return err
				}
			}
			var result layerResult
			err = w.Run(command, io.err, func(ctx context.Context, show *progress.Reporter) error {
				summary, err := op.do(p, ctx, show, args[0])
				result = newLayerResult(args[0], op.verb, summary, show.Steps())
				return err
			})
			if err != nil {
				return err
			}
			return o.Print(io.out, result, func() error { return nil }) // The step shows the text.
		},
	}
	t.bind(command)
	o.Bind(command)
	w.Bind(command)
	if op.destructive {
		command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	}
	return command
}

// newLayerResult returns the result of an operation that was shown as steps; none if there was nothing to do.
func newLayerResult(layer, verb string, summary layers.Summary, steps []progress.Step) layerResult {
	result := layerResult{Layer: layer, Operation: verb, Changes: summary.Changes, EngineSeconds: summary.Engine.Seconds()}
	if result.Changes == nil {
		result.Changes = map[string]int{}
	}
	for _, step := range steps {
		result.Seconds += step.Elapsed.Seconds()
	}
	return result
}

func newLayerOutputs(io streams) *cobra.Command {
	var t target
	var o cli.Output
	var secrets bool
	command := &cobra.Command{
		Use:       "outputs LAYER",
		Short:     "Print the outputs of a layer",
		Example:   "  strata layer outputs bootstrap -o json",
		ValidArgs: []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer},
		Args:      layerArgument(),
		RunE: func(command *cobra.Command, args []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			values, err := p.LayerOutputs(command.Context(), args[0], secrets)
			if err != nil {
				return err
			}
			return o.Print(io.out, values, func() error { return printOutputs(io, values) })
		},
	}
	t.bind(command)
	o.Bind(command)
	command.Flags().BoolVar(&secrets, "show-secrets", false, "print secrets in plain text")
	return command
}

// printOutputs prints a line for each output of a layer.
func printOutputs(io streams, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, err := outputText(values[name])
		if err != nil {
			return err
		}
		fmt.Fprintf(io.out, "%s: %s\n", name, text)
	}
	return nil
}

// outputText returns a string output as it is, and any other output as JSON.
func outputText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}
