package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/progress"
)

// worked runs a command whose work is do.
func worked(ctx context.Context, t *testing.T, do func(context.Context, *progress.Reporter) error, args ...string) (printed string, err error) {
	t.Helper()
	var out bytes.Buffer
	var w Work
	command := &cobra.Command{Use: "up", SilenceErrors: true, SilenceUsage: true, RunE: func(command *cobra.Command, _ []string) error {
		return w.Run(command, &out, do)
	}}
	w.Bind(command)
	command.SetArgs(args)
	err = command.ExecuteContext(ctx)
	return out.String(), err
}

// waits is work that waits for an object until its context ends, and then returns an unreadable error.
func waits(ctx context.Context, show *progress.Reporter) error {
	return show.Run("layers 3 and 4", func() (string, error) {
		show.Detail("waiting for %s", "Stack team-web/orders: Failed")
		<-ctx.Done()
		return "", errors.New("signal: killed\nexit status 137")
	})
}

func TestATimeoutNamesTheObjectAndTheNextStepInOneLine(t *testing.T) {
	_, err := worked(t.Context(), t, waits, "--timeout", "1ms")
	want := "`up` has not finished within 1ms (--timeout): it stopped at the step layers 3 and 4: waiting for Stack team-web/orders: Failed. " +
		"Run it again to continue; -v shows each operation"
	if err == nil || err.Error() != want {
		t.Errorf("the error is\n%v, want\n%s", err, want)
	}
}

func TestACommandWithoutPulumiHasNoFlagThatShowsMore(t *testing.T) {
	var w Work
	command := &cobra.Command{Use: "image", SilenceErrors: true, SilenceUsage: true, RunE: func(command *cobra.Command, _ []string) error {
		return w.Run(command, &bytes.Buffer{}, waits)
	}}
	w.BindTimeout(command)
	command.SetArgs([]string{"--timeout", "1ms"})
	err := command.ExecuteContext(t.Context())
	if want := ". Run it again to continue"; err == nil || !strings.HasSuffix(err.Error(), want) || command.Flags().Lookup("verbose") != nil {
		t.Errorf("the error is %v, want one that ends in %q", err, want)
	}
}

func TestOtherErrorsStay(t *testing.T) {
	failure := errors.New("broken")
	fails := func(context.Context, *progress.Reporter) error { return failure }
	for _, args := range [][]string{nil, {"--timeout", "1h"}} {
		if _, err := worked(t.Context(), t, fails, args...); !errors.Is(err, failure) {
			t.Errorf("%s: the error is %v", args, err)
		}
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := worked(interrupted, t, waits, "--timeout", "1h"); err == nil || strings.Contains(err.Error(), "--timeout") {
		t.Errorf("an interrupt becomes %v", err)
	}
	if _, err := worked(t.Context(), t, fails, "--timeout", "soon"); err == nil || errors.Is(err, failure) {
		t.Errorf("a wrong time becomes %v", err)
	}
}

func TestVerbosePrintsWhatTheCommandWaitsFor(t *testing.T) {
	printed, _ := worked(t.Context(), t, waits, "-v", "--timeout", "1ms")
	if !strings.Contains(printed, "waiting for Stack team-web/orders: Failed\n") {
		t.Errorf("printed %q", printed)
	}
	if printed, _ := worked(t.Context(), t, waits, "--timeout", "1ms"); strings.Contains(printed, "waiting") {
		t.Errorf("without -v, printed %q", printed)
	}
}
