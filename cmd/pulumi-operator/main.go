// Command pulumi-operator is the embedded operator in a pod. On the target local, strata itself is the operator.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/strata-platform/strata/operator/command"
	"github.com/strata-platform/strata/operator/sandbox"
)

func main() {
	os.Exit(run())
}

// run returns the exit code.
func run() int {
	// The user of a pod confines runs in a user namespace only.
	code, ran, err := sandbox.Enter()
	if !ran {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		operator := command.New()
		operator.SilenceErrors = true
		if err = operator.ExecuteContext(ctx); err != nil {
			code = 1
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-operator:", err)
	}
	return code
}
