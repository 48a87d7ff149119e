package layers

import (
	"context"
	"io"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// frugal is the pulumi command without what the Automation API runs it for and nobody asks: each call takes as long as a
// fifth of an up that changes nothing.
type frugal struct {
	auto.PulumiCommand
	// exists: there is the stack, so that none needs to be selected.
	exists bool
}

// Run answers for pulumi where that is right.
func (f frugal) Run(ctx context.Context, dir string, in io.Reader, out, errs []io.Writer, env []string, args ...string) (string, string, int, error) {
	is := func(words ...string) bool { return len(args) >= len(words) && slices.Equal(args[:len(words)], words) }
	switch {
	case is("stack", "output"):
		return "{}", "", 0, nil
	case is("stack", "history"):
		return "[]", "", 0, nil
	case is("stack", "select") && f.exists:
		// Every other call names the stack.
		return "", "", 0, nil
	}
	return f.PulumiCommand.Run(ctx, dir, in, out, errs, env, args...)
}
