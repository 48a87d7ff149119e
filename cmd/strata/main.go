// Command strata carries a platform through its layers, from an empty folder to running Stacks, and back.
//
// Under the names of Pulumi's provider plugins the same executable is the local target's plugins.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/strata-platform/strata/internal/local/plugins"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if name, ok := plugins.Name(os.Args[0]); ok {
		if err := plugins.Run(ctx, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailed)
		}
		return
	}
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
