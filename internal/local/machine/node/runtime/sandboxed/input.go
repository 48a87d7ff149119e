package sandboxed

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// input is the standard input of a container. It stays open for attached clients, until the first of them leaves if once is
// set (Kubernetes, PodSpec, stdinOnce). It holds no data: a client waits until the container reads.
type input struct {
	once bool
	data chan []byte
	rest []byte // of the last data; only Read uses it
	end  chan struct{}
	stop sync.Once // closes end
}

// newInput returns the input of a container, or nil if the container has none. The input of a terminal does not end with a
// client, because a terminal has no end.
func newInput(c runtime.Container) *input {
	if !c.Spec.Stdin {
		return nil
	}
	return &input{once: c.Spec.StdinOnce && !c.Spec.TTY, data: make(chan []byte), end: make(chan struct{})}
}

// Read implements io.Reader for the container. Only one goroutine may call it.
func (i *input) Read(p []byte) (int, error) {
	if len(i.rest) == 0 {
		select {
		case i.rest = <-i.data:
		case <-i.end:
			return 0, io.EOF
		}
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// Close ends the input.
func (i *input) Close() { i.stop.Do(func() { close(i.end) }) }

// copy passes a client's input to the container until the client's input, the container or ctx ends.
func (i *input) copy(ctx context.Context, from io.Reader) {
	if i.once {
		defer i.Close()
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case i.data <- bytes.Clone(buffer[:n]):
			case <-i.end:
				return
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}
