package sandboxed

import (
	"context"
	"errors"
	"io"
	"sync"
)

const (
	// maxBehind is the number of bytes that an attached client may be behind the container's output.
	maxBehind = 1 << 20
	// overhead is what a chunk in a queue costs besides its data, in bytes.
	overhead = 64
)

// errSlow is the error of a client that is further behind.
var errSlow = errors.New("the client reads more slowly than the container writes: it missed output and was disconnected")

// stream is one of the two output streams of a container.
type stream int

const (
	stdout stream = iota
	stderr
)

// output passes the output of a container to its log and to the attached clients. A write waits only for the log, which
// never waits for anything but the disk: each client has a queue, and the output drops a client whose queue is full.
type output struct {
	mu      sync.Mutex
	clients map[*client]struct{}
	ended   bool
}

// client is an attached client.
type client struct {
	wake chan struct{} // signals a change of the fields below
	// The output's lock guards the fields below.
	queue []chunk
	size  int // what the queue costs, in bytes
	slow  bool
}

// chunk is a part of the output.
type chunk struct {
	from stream
	data []byte
}

// to returns the writer of a stream, which also writes to the log.
func (o *output) to(log io.Writer, from stream) io.Writer { return tee{o, log, from} }

type tee struct {
	output *output
	log    io.Writer
	from   stream
}

// Write implements io.Writer.
func (t tee) Write(p []byte) (int, error) {
	n, err := t.log.Write(p)
	t.output.add(t.from, p)
	return n, err
}

// add queues output for the clients.
func (o *output) add(from stream, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.clients) == 0 {
		return
	}
	data := append([]byte(nil), p...) // The caller reuses p. The clients share the copy.
	for c := range o.clients {
		if c.size += len(data) + overhead; c.size > maxBehind {
			c.slow, c.queue = true, nil
			delete(o.clients, c)
		} else {
			c.queue = append(c.queue, chunk{from, data})
		}
		c.signal()
	}
}

func (c *client) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end ends the output. The clients still get what is in their queues.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	for c := range o.clients {
		c.signal()
	}
}

// join adds a client, which gets all output from now on.
func (o *output) join() *client {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &client{wake: make(chan struct{}, 1)}
	if o.clients == nil {
		o.clients = map[*client]struct{}{}
	}
	o.clients[c] = struct{}{}
	return c
}

// leave removes a client.
func (o *output) leave(c *client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.clients, c)
}

// take empties a client's queue. ended says that nothing will follow.
func (o *output) take(c *client) (queue []chunk, ended bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.slow {
		return nil, true, errSlow
	}
	queue, c.queue, c.size = c.queue, nil, 0
	return queue, o.ended, nil
}

// copy writes a client's output until the output or ctx ends. It returns errSlow at once when the client is dropped, even if
// a writer still blocks. It does not wait for a writer that blocks when ctx ends.
func (o *output) copy(ctx context.Context, c *client, writers [2]io.Writer) error {
	chunks, written := make(chan chunk), make(chan error, 1)
	defer close(chunks)
	go func() {
		var failed error
		for each := range chunks {
			if w := writers[each.from]; w != nil && failed == nil {
				_, failed = w.Write(each.data)
			}
			written <- failed
		}
	}()
	for {
		queue, ended, err := o.take(c)
		if err != nil {
			return err
		}
		for _, each := range queue {
			if err := o.write(ctx, c, each, chunks, written); err != nil {
				return err
			}
		}
		if ended && len(queue) == 0 {
			return nil
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// write writes a chunk. While it waits for the writer, the client may become too slow.
func (o *output) write(ctx context.Context, c *client, each chunk, chunks chan<- chunk, written <-chan error) error {
	chunks <- each // The writer has finished the chunk before, so it receives at once.
	for {
		select {
		case err := <-written:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
			o.mu.Lock()
			slow := c.slow
			o.mu.Unlock()
			if slow {
				return errSlow
			}
		}
	}
}
