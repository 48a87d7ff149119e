package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
			verb: "up", short: "Create and update the resources that a layer's program declares", do: (*lifecycle.Platform).LayerUp, repositories: true,
		}),
		newLayerOperation(io, layerOperation{
			verb: "destroy", short: "Delete all resources of a layer, unless a higher layer depends on it", do: (*lifecycle.Platform).LayerDestroy, destructive: true,
			long: `Delete all resources of a layer in reverse order, after a confirmation. Destroy layer platform before layer bootstrap:

  platform   deletes the operator, Flux, and the teams' namespaces with all of their objects. The cluster stays. It fails
             while a team has a Stack, because only the operator can destroy the Stack's resources.
  bootstrap  deletes the cluster and the layer's resources in the emulated cloud: the database instance with its
             databases, and the teams' identities. The passphrases of the teams' state are lost with them, so the state
             of the teams' Stacks is lost, too. It fails while layer platform has resources, or with deletionProtection.

If it fails for such a reason, it has changed nothing. The Git repositories and the layer's own state stay: strata layer up
creates the layer again. strata down does all of this in order, and destroys the Stacks first.`,
		}),
		newLayerOutputs(io),
	)
}

type layerOperation struct {
	verb, short string
	// long is the long description; empty means that short is enough.
	long string
	do   func(*lifecycle.Platform, context.Context, string, layers.Progress) (layers.Summary, error)
	// repositories says that the operation first pushes this clone to the repositories. destructive says that it needs a
	// confirmation.
	repositories, destructive bool
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
	var o output
	var yes bool
	command := &cobra.Command{
		Use:       op.verb + " LAYER",
		Short:     op.short,
		Long:      op.long,
		Example:   "  strata layer " + op.verb + " bootstrap\n  strata layer " + op.verb + " bootstrap --target gke",
		ValidArgs: []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer},
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
			result := layerResult{Layer: args[0], Operation: op.verb, Changes: map[string]int{}}
			show := progress.New(io.err)
			if op.destructive && !p.Made(args[0]) {
				show.Note("layer %s has never run in this home", args[0])
			} else if err := confirmAndRun(command.Context(), io, p, show, op, yes, &result); err != nil {
				return err
			}
			if !asJSON {
				return nil
			}
			return printJSON(io.out, result)
		},
	}
	t.bind(command)
	o.bind(command)
	if op.destructive {
		command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	}
	return command
}

func confirmAndRun(ctx context.Context, io streams, p *lifecycle.Platform, show *progress.Reporter, op layerOperation, yes bool, result *layerResult) error {
	if op.destructive && !yes {
		if err := confirm(ctx, io, "Destroy layer "+result.Layer+"?"); err != nil {
			return err
		}
	}
	return runLayer(ctx, p, show, op, result)
}

// runLayer runs an operation on the result's layer and fills in the rest of the result. It shows each resource that the
// engine processes: the current one on a terminal, a line for each elsewhere.
func runLayer(ctx context.Context, p *lifecycle.Platform, show *progress.Reporter, op layerOperation, result *layerResult) error {
	// PrepareLayer may start the supervisor, even for a preview, so the lock covers it, too.
	release, err := p.Lock()
	if err != nil {
		return err
	}
	defer release()
	if err := p.PrepareLayer(ctx, show, op.repositories); err != nil {
		return err
	}
	began := time.Now()
	return show.Run(op.verb+" layer "+result.Layer, func() (string, error) {
		summary, err := op.do(p, ctx, result.Layer, func(operation, resource string) {
			if show.Terminal() {
				show.Detail("%s %s", operation, resource)
			} else {
				show.Note("%s %s", operation, resource)
			}
		})
		if err != nil {
			return "", err
		}
		if summary.Changes != nil {
			result.Changes = summary.Changes
		}
		result.Seconds, result.EngineSeconds = time.Since(began).Seconds(), summary.Engine.Seconds()
		return fmt.Sprintf("%s (%.1fs in Pulumi)", summary, summary.Engine.Seconds()), nil
	})
}

func newLayerOutputs(io streams) *cobra.Command {
	var t target
	var o output
	var secrets bool
	command := &cobra.Command{
		Use:       "outputs LAYER",
		Short:     "Print the outputs of a layer",
		Example:   "  strata layer outputs bootstrap -o json",
		ValidArgs: []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer},
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
			values, err := p.LayerOutputs(command.Context(), args[0], secrets)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, values)
			}
			for _, name := range slices.Sorted(maps.Keys(values)) {
				text, err := outputText(values[name])
				if err != nil {
					return err
				}
				fmt.Fprintf(io.out, "%s: %s\n", name, text)
			}
			return nil
		},
	}
	t.bind(command)
	o.bind(command)
	command.Flags().BoolVar(&secrets, "show-secrets", false, "print secrets in plain text")
	return command
}

// outputText returns a string output as it is, and any other output as JSON.
func outputText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}
