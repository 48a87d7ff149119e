package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/progress"
)

// Work are the flags of commands that wait: --timeout and --verbose.
type Work struct {
	limit   time.Duration
	verbose bool
	hint    string
}

// Bind adds both flags to a command.
func (w *Work) Bind(command *cobra.Command) {
	w.BindTimeout(command)
	w.hint = "; -v shows each operation"
	command.Flags().BoolVarP(&w.verbose, "verbose", "v", false, "print a line for each resource that Pulumi changes, and for each object that the command waits for")
}

// BindTimeout adds --timeout alone, for a command that runs no Pulumi.
func (w *Work) BindTimeout(command *cobra.Command) {
	command.Flags().DurationVar(&w.limit, "timeout", 0, "end after this time, such as 10m; the same command continues later")
	complete.Flag(command, "timeout", complete.Values("5m", "10m", "30m"))
}

// Unfinished is the error of a command that --timeout has ended.
type Unfinished struct {
	// Command is the words of the command, and Limit its time.
	Command string
	Limit   time.Duration
	// At describes the unfinished step, with the object that it waited for; empty if no step had begun.
	At string
	// Hint ends the message with what shows more; it may be empty.
	Hint string
}

func (u *Unfinished) Error() string {
	at := ""
	if u.At != "" {
		at = " at the step " + u.At
	}
	return fmt.Sprintf("`%s` has not finished within %s (--timeout): it stopped%s. Run it again to continue%s", u.Command, u.Limit, at, u.Hint)
}

// Run calls do with a reporter that prints to out, and with a context that ends after the time of --timeout. The error is then
// one line, an [Unfinished], whatever error the interrupted work has.
func (w *Work) Run(command *cobra.Command, out io.Writer, do func(ctx context.Context, show *progress.Reporter) error) error {
	show := progress.New(out)
	if w.verbose {
		show = progress.NewVerbose(out)
	}
	ctx := command.Context()
	if w.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.limit)
		defer cancel()
	}
	err := do(ctx, show)
	if err != nil && w.limit > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) && command.Context().Err() == nil {
		return &Unfinished{Command: command.CommandPath(), Limit: w.limit, At: show.Failed(), Hint: w.hint}
	}
	return err
}
