package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/internal/local/supervisor"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/toolchain"
)

// shellQuote quotes a word for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func newKubeconfig(io streams) *cobra.Command {
	var team string
	command := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of a kubeconfig, as the administrator or as a team",
		Example: `  kubectl --kubeconfig "$(strata kubeconfig)" get pods -A
  kubectl --kubeconfig "$(strata kubeconfig --team web)" get stacks`,
		Args: arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := openLocal("dev")
			if err != nil {
				return err
			}
			path, err := p.AdminKubeconfig()
			if team != "" {
				path, err = p.TeamKubeconfig(command.Context(), team)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(io.out, path)
			return nil
		},
	}
	command.Flags().StringVar(&team, "team", "", "act as this team's service account, in the team's namespace")
	return command
}

func newLocal(io streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "local",
		Short: "Run the local target without any layer: emulated Google Cloud, Git server, control plane",
		Example: `  strata local start
  strata local status -o json
  strata local stop`,
	}
	command.AddCommand(newLocalStart(io), newLocalStop(io), newLocalStatus(io))
	return command
}

func newLocalStart(io streams) *cobra.Command {
	return &cobra.Command{
		Use:     "start",
		Short:   "Start everything and wait for a ready node",
		Example: "  strata local start",
		Args:    arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := openLocal("dev")
			if err != nil {
				return err
			}
			show := progress.New(io.err)
			if err := p.StartCluster(command.Context(), show); err != nil {
				return err
			}
			path, err := p.AdminKubeconfig()
			if err != nil {
				return err
			}
			fmt.Fprintf(io.out, "kubectl --kubeconfig %s get nodes\n", path)
			return nil
		},
	}
}

func newLocalStop(io streams) *cobra.Command {
	return &cobra.Command{
		Use:     "stop",
		Short:   "Stop what runs; data stays",
		Example: "  strata local stop",
		Args:    arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := openLocal("dev")
			if err != nil {
				return err
			}
			return progress.New(io.err).Run("stop what runs", func() (string, error) {
				return "", p.Supervisor().Stop(command.Context())
			})
		},
	}
}

func newLocalStatus(io streams) *cobra.Command {
	var o output
	command := &cobra.Command{
		Use:     "status",
		Short:   "Show the supervisor, what it serves and its child processes",
		Example: "  strata local status -o json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			p, err := openLocal("dev")
			if err != nil {
				return err
			}
			s, err := p.Supervisor().Status(command.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, s)
			}
			fmt.Fprintf(io.out, "supervisor  pid %d\nGoogle      %s (emulated)\nGit         %s\ncluster     %s %s%s\n",
				s.Pid, s.GoogleURL, s.GitURL, s.Cluster, s.Server, s.ClusterError)
			for _, child := range s.Processes {
				fmt.Fprintf(io.out, "  %-24s pid %-7d restarts %d %s\n", child.Name, child.Pid, child.Restarts, child.LastError)
			}
			return nil
		},
	}
	o.bind(command)
	return command
}

func newToolchain(io streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "toolchain",
		Short: "List or build the programs that the local target consists of",
		Example: `  strata toolchain list
  strata toolchain build --all`,
	}
	command.AddCommand(newToolchainList(io), newToolchainBuild(io))
	return command
}

func newToolchainList(io streams) *cobra.Command {
	var o output
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the tools, their pinned versions and whether they are built",
		Example: "  strata toolchain list -o json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			root, err := findRepository()
			if err != nil {
				return err
			}
			tc, err := toolchain.Open(root)
			if err != nil {
				return err
			}
			list, err := tc.List(command.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, list)
			}
			table := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
			for _, tool := range list {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", tool.Name, tool.Version, tool.State, tool.Module)
			}
			return table.Flush()
		},
	}
	o.bind(command)
	return command
}

func newToolchainBuild(io streams) *cobra.Command {
	var all bool
	command := &cobra.Command{
		Use:     "build [TOOL ...]",
		Short:   "Build the named tools, or all",
		Example: "  strata toolchain build etcd kube-apiserver",
		RunE: func(command *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return usageError{fmt.Errorf("name the tools to build, or say --all")}
			}
			p, err := openLocal("dev")
			if err != nil {
				return err
			}
			if all {
				names = p.Toolchain.Names()
			}
			show := progress.New(io.err)
			return show.Run("toolchain", func() (string, error) {
				return "", p.EnsureTools(command.Context(), show, names...)
			})
		},
	}
	command.Flags().BoolVar(&all, "all", false, "build all tools")
	return command
}

func newVersion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print strata's version",
		Example: "  strata version",
		Args:    arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(io.out, version)
			return nil
		},
	}
}

// newSupervisor is the command that `strata up` and `strata local start` run in the background.
func newSupervisor() *cobra.Command {
	var dir, repository string
	command := &cobra.Command{
		Use:    supervisor.Command,
		Hidden: true,
		Args:   arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			h, err := home.Open(dir)
			if err != nil {
				return err
			}
			tc, err := toolchain.Open(repository)
			if err != nil {
				return err
			}
			executable, err := os.Executable()
			if err != nil {
				return err
			}
			return supervisor.Run(command.Context(), supervisor.Options{
				Home: h, Toolchain: tc, Executable: executable, Version: version,
				Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			})
		},
	}
	command.Flags().StringVar(&dir, "home", "", "folder of the home")
	command.Flags().StringVar(&repository, "repository", "", "Strata's repository")
	return command
}
