package layers

import (
	"context"
	"io"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// frugal is a pulumi command that skips calls of the Automation API whose results nobody uses. Each call takes a fifth of
// the time of an up without changes.
type frugal struct {
	auto.PulumiCommand
	// exists says that the stack exists, so that the call which selects it can be skipped.
	exists bool
}

// Run answers skipped calls itself and passes the others to pulumi.
func (f frugal) Run(ctx context.Context, dir string, in io.Reader, out, errs []io.Writer, env []string, args ...string) (string, string, int, error) {
	is := func(words ...string) bool { return len(args) >= len(words) && slices.Equal(args[:len(words)], words) }
	switch {
	case is("stack", "output"):
		return "{}", "", 0, nil
	case is("stack", "history"):
		return "[]", "", 0, nil
	case is("stack", "select") && f.exists:
		// Every other call names the stack explicitly.
		return "", "", 0, nil
	}
	return f.PulumiCommand.Run(ctx, dir, in, out, errs, env, args...)
}
