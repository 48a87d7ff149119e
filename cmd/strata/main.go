// Command strata carries a platform through its layers, from an empty folder to running Stacks, and back.
//
// Under the names of Pulumi's provider plugins the same executable is the local target's plugins, under that of the
// language host for Go it is a thin one, and under that of a trial it builds what a team pushed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/gohost"
	"github.com/strata-platform/strata/internal/local/plugins"
	"github.com/strata-platform/strata/internal/local/supervisor"
)

func main() {
	trial.Main()
	ctx, stop := interruptible(len(os.Args) > 1 && os.Args[1] == supervisor.Command)
	defer stop()
	if filepath.Base(os.Args[0]) == gohost.Executable {
		exitOn(gohost.Serve(ctx, os.Stdout, version, os.Args[1:]))
		return
	}
	if name, ok := plugins.Name(os.Args[0]); ok {
		exitOn(plugins.Run(ctx, name))
		return
	}
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// interruptible returns a context that ends with the first signal to end. The second one kills what does not end by that,
// but a patient process: the supervisor ends what it runs, however often it is told to.
func interruptible(patient bool) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if !patient {
		context.AfterFunc(ctx, stop)
	}
	return ctx, stop
}

// exitOn ends the process of a plugin that failed.
func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}
