// Command strata brings a platform up through its layers, from an empty folder to running Stacks, and takes it down
// again.
//
// Under the name of a Pulumi provider plugin, the same executable is that plugin of the local target. Under the name of
// the Go language host, it is a thin language host. Under the name of Google's login program, it logs clients in to the
// emulated cluster. Under the name of a trial, it builds the commits of a push. As the first process of a sandbox host, it
// runs the pods.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/strata-platform/strata/cmd/strata/internal/quiet"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/kubeconfig"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/plugins"
	"github.com/strata-platform/strata/internal/local/plugins/gohost"
)

func main() {
	quiet.Restore()
	trial.Main()
	sandboxes.Main()
	ctx, stop := interruptible(len(os.Args) > 1 && os.Args[1] == supervisor.Command)
	defer stop()
	switch filepath.Base(os.Args[0]) {
	case gohost.Executable:
		exitOn(gohost.Serve(ctx, os.Stdout, version, os.Args[1:]))
		return
	case pulumienv.LoginPlugin:
		exitOn(kubeconfig.Login(os.Args[0], os.Stdout))
		return
	}
	if name, ok := plugins.Name(os.Args[0]); ok {
		exitOn(plugins.Run(ctx, name))
		return
	}
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels. The second signal kills a process that is
// still running, unless patient is true: the supervisor must stop its child processes, however many signals it receives.
func interruptible(patient bool) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if !patient {
		context.AfterFunc(ctx, stop)
	}
	return ctx, stop
}

// exitOn ends the process of a plugin if err is not nil.
func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}
