// Package kubeconfigcmd contains the command `strata kubeconfig`.
package kubeconfigcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/kubeconfig/userfile"
)

// Result is the output of -o json.
type Result struct {
	// Path is the path of the kubeconfig.
	Path string `json:"path"`
	// Contexts are the contexts that --merge has added or removed.
	Contexts []string `json:"contexts,omitempty"`
}

// contextPrefix begins the names of the contexts in the user's kubeconfig.
const contextPrefix = "strata-"

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var team string
	var merge, remove bool
	var output cli.Output
	command := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of a kubeconfig, as the administrator or as a team",
		Long: `Print the path of a kubeconfig, as the administrator or as a team. The token of a team is valid for 12 hours.

With --merge the command writes a context strata-TEAM for each team, or for the one of --team, into your own kubeconfig: the first file of
$KUBECONFIG, otherwise ~/.kube/config. It replaces contexts of these names, keeps every other byte and your current context, and makes the file
readable only for you. Run it again when the tokens have expired. --merge --remove removes the contexts again; strata down does not.`,
		Example: `  kubectl --kubeconfig "$(strata kubeconfig)" get pods -A
  kubectl --kubeconfig "$(strata kubeconfig --team web)" get stacks

  # a context for each team in your own kubeconfig
  strata kubeconfig --merge
  kubectl --context strata-web get stacks
  strata kubeconfig --merge --remove`,
		Args: o.Arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			if remove && !merge {
				return o.Usage(errors.New("--remove needs --merge: it removes what --merge has written"))
			}
			p, err := o.Local()
			if err != nil {
				return err
			}
			result, err := run(command.Context(), p, team, merge, remove)
			if err != nil {
				return err
			}
			return output.Print(o.Out, result, func() error {
				if !merge {
					_, err := fmt.Fprintln(o.Out, result.Path)
					return err
				}
				verb := "has the contexts"
				if remove {
					verb = "no longer has the contexts"
				}
				_, err := fmt.Fprintf(o.Out, "%s %s %s\n", result.Path, verb, strings.Join(result.Contexts, ", "))
				return err
			})
		},
	}
	output.Bind(command)
	complete.Team(command, &team, "act as this team's service account, in the team's namespace", o.Local)
	command.Flags().BoolVar(&merge, "merge", false, "write a context for each team into your own kubeconfig")
	command.Flags().BoolVar(&remove, "remove", false, "with --merge: remove these contexts again")
	return command
}

// run writes a kubeconfig of the home, or with merge changes the contexts in the user's own kubeconfig.
func run(ctx context.Context, p *local.Platform, team string, merge, remove bool) (Result, error) {
	if !merge {
		path, err := p.AdminKubeconfig()
		if team != "" {
			path, err = p.TeamKubeconfig(ctx, team)
		}
		return Result{Path: path}, err
	}
	path, err := userfile.Path()
	if err != nil {
		return Result{}, err
	}
	names := []string{team}
	if team == "" {
		list, err := p.Teams()
		if err != nil {
			return Result{}, err
		}
		names = nil
		for _, each := range list {
			// The account of an entry of the catalogue runs the orders of all teams, and is nobody's to use.
			if each.Offer == "" {
				names = append(names, each.Name)
			}
		}
	}
	result := Result{Path: path}
	if remove {
		for i := range names {
			names[i] = contextPrefix + names[i]
		}
		result.Contexts, err = userfile.Remove(path, names)
		return result, err
	}
	var contexts []userfile.Context
	for _, name := range names {
		one, err := contextOf(ctx, p, name)
		if err != nil {
			return Result{}, err
		}
		contexts = append(contexts, one)
		result.Contexts = append(result.Contexts, one.Name)
	}
	return result, userfile.Merge(path, contexts)
}

// contextOf returns a context that acts as a team, with a new token.
func contextOf(ctx context.Context, p *local.Platform, team string) (userfile.Context, error) {
	path, err := p.TeamKubeconfig(ctx, team)
	if err != nil {
		return userfile.Context{}, err
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return userfile.Context{}, fmt.Errorf("read the kubeconfig of team %s: %w", team, err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || config.AuthInfos[current.AuthInfo] == nil {
		return userfile.Context{}, fmt.Errorf("the kubeconfig of team %s in %s has no current context", team, path)
	}
	cluster := config.Clusters[current.Cluster]
	return userfile.Context{
		Name: contextPrefix + team, Server: cluster.Server, Authority: cluster.CertificateAuthorityData,
		Namespace: current.Namespace, Token: config.AuthInfos[current.AuthInfo].Token,
	}, nil
}
