// Package complete completes arguments and the values of flags in a shell. It reads files and, for Services, the API server for at
// most a second; it starts nothing and shows no error.
package complete

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/logs"
	"github.com/strata-platform/strata/internal/stacklogs"
)

// StackPrefix begins the name of a Stack among the names of logs.
const StackPrefix = "stack/"

// Open opens the local platform without starting it.
type Open func() (*local.Platform, error)

const (
	// patience bounds the requests to the API server. A person waits for the shell meanwhile.
	patience = time.Second
	// most is the maximum number of completions.
	most = 500
)

// harmless matches names without a meaning for a shell or a terminal. Some shells evaluate completions that contain others, such
// as $(command).
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]*$`)

// names returns the harmless ones of a list that begin with a prefix.
func names(list []string, prefix string) []cobra.Completion {
	kept := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !harmless.MatchString(name) || !strings.HasPrefix(name, prefix) })
	slices.Sort(kept)
	return kept[:min(most, len(kept))]
}

// from returns a completion of up to count arguments, 0 for any number, from a list. An error completes nothing: standard error
// belongs to the person's command line.
func from(count int, list func(*cobra.Command) ([]string, error)) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if count > 0 && len(args) >= count {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, err := list(command)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found = slices.DeleteFunc(slices.Clone(found), func(name string) bool { return slices.Contains(args, name) })
		return names(found, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// Teams completes one name of a team of teams.yaml.
func Teams(open Open) cobra.CompletionFunc { return from(1, teamsOf(open)) }

func teamsOf(open Open) func(*cobra.Command) ([]string, error) {
	return func(*cobra.Command) ([]string, error) {
		p, err := open()
		if err != nil {
			return nil, err
		}
		list, err := p.Teams()
		var found []string
		for _, team := range list {
			found = append(found, team.Name)
		}
		return found, err
	}
}

// Logs completes one log of the home, or a Stack of the team that the flag --team names, or of all teams. It asks the API server only
// for a word that may become the name of a Stack.
func Logs(open Open, find Namespaces) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return from(1, func(command *cobra.Command) ([]string, error) {
			p, err := open()
			if err != nil {
				return nil, err
			}
			found, err := logs.Names(p.Home)
			if err == nil && (strings.HasPrefix(prefix, StackPrefix) || strings.HasPrefix(StackPrefix, prefix)) {
				for _, name := range stacksOf(command, find) {
					found = append(found, StackPrefix+name)
				}
			}
			return found, err
		})(command, args, prefix)
	}
}

// Stacks completes names of Stacks of the team that the flag --team names, or of all teams.
func Stacks(find Namespaces) cobra.CompletionFunc {
	return from(0, func(command *cobra.Command) ([]string, error) { return stacksOf(command, find), nil })
}

// stacksOf returns the names of the Stacks of the team that the flag --team names, or of all teams; none if the API server does not
// answer.
func stacksOf(command *cobra.Command, find Namespaces) []string {
	ctx, cancel := context.WithTimeout(command.Context(), patience)
	defer cancel()
	team, _ := command.Flags().GetString(TeamFlag)
	config, namespaces, err := find(ctx, team)
	if err != nil {
		return nil
	}
	names, err := stacklogs.Names(ctx, config, namespaces, most)
	if err != nil {
		return nil
	}
	return names
}

// Tools completes the pinned tools.
func Tools(open Open) cobra.CompletionFunc {
	return from(0, func(*cobra.Command) ([]string, error) {
		p, err := open()
		if err != nil {
			return nil, err
		}
		return p.Toolchain.Names(), nil
	})
}

// Namespaces returns the namespaces of a team, or of all teams, and the configuration of clients of their cluster.
type Namespaces func(ctx context.Context, team string) (*rest.Config, []string, error)

// Services completes one name of a Service of the team that the flag --team names, or of all teams.
func Services(find Namespaces) cobra.CompletionFunc {
	return from(1, func(command *cobra.Command) ([]string, error) {
		ctx, cancel := context.WithTimeout(command.Context(), patience)
		defer cancel()
		team, _ := command.Flags().GetString(TeamFlag)
		config, namespaces, err := find(ctx, team)
		if err != nil {
			return nil, err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		var found []string
		for _, namespace := range namespaces {
			list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{Limit: most})
			if err != nil {
				return nil, err
			}
			for _, service := range list.Items {
				found = append(found, service.Name)
			}
		}
		slices.Sort(found)
		return slices.Compact(found), nil
	})
}

// One completes one of the names that list returns.
func One(list func() ([]string, error)) cobra.CompletionFunc {
	return from(1, func(*cobra.Command) ([]string, error) { return list() })
}

// List completes any number of the names that list returns.
func List(list func() ([]string, error)) cobra.CompletionFunc {
	return from(0, func(*cobra.Command) ([]string, error) { return list() })
}
