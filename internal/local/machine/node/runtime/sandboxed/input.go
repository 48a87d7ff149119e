package sandboxed

import (
	"io"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// input is the standard input of a container. It stays open for attached clients, one after the other, until the first of
// them ends it if once is set (Kubernetes, PodSpec, stdinOnce).
type input struct {
	*io.PipeReader
	to   *io.PipeWriter
	once bool
}

// newInput returns the input of a container, or nil if the container has none. A program with a terminal gets no end of its
// input, because a terminal has none.
func newInput(c runtime.Container) *input {
	if !c.Spec.Stdin {
		return nil
	}
	from, to := io.Pipe()
	return &input{from, to, c.Spec.StdinOnce && !c.Spec.TTY}
}

// copy passes a client's input to the container until the client's input ends, or the container ends.
func (i *input) copy(from io.Reader) {
	_, _ = io.Copy(i.to, from)
	if i.once {
		i.to.Close()
	}
}
