package sandboxes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
)

// client sends requests to the helper.
type client struct {
	conn *protocol.Conn

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan response
	ended   bool
}

type response struct {
	message protocol.Message
	files   []*os.File
}

// request is a request with its files. undo reverts a request that succeeded after its caller had stopped waiting; nil means that
// there is nothing to revert.
type request struct {
	method protocol.Method
	body   any
	files  []*os.File
	undo   func()
}

func newClient(conn *protocol.Conn) *client {
	c := &client{conn: conn, waiting: map[uint64]chan response{}}
	go c.receive()
	return c
}

// receive delivers responses until the connection ends.
func (c *client) receive() {
	for {
		m, files, err := c.conn.Receive()
		if err != nil {
			c.conn.Close() // The helper ends when it notices.
			c.fail()
			return
		}
		c.mu.Lock()
		waiting := c.waiting[m.ID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		if waiting == nil {
			protocol.CloseAll(files)
			continue
		}
		waiting <- response{m, files}
	}
}

// fail ends all requests with [ErrGone].
func (c *client) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for id, waiting := range c.waiting {
		waiting <- response{message: protocol.Message{Error: ended()}}
		delete(c.waiting, id)
	}
}

func ended() *protocol.Failure {
	return &protocol.Failure{Text: "the helper process of the sandboxes has ended", Gone: true}
}

// call sends a request without files.
func (c *client) call(ctx context.Context, method protocol.Method, body, result any) error {
	files, err := c.do(ctx, request{method: method, body: body}, result)
	protocol.CloseAll(files)
	return err
}

// do sends a request, waits for its response, and decodes the result unless it is nil. It returns the response's files.
func (c *client) do(ctx context.Context, r request, result any) ([]*os.File, error) {
	body, err := json.Marshal(r.body)
	if err != nil {
		return nil, fmt.Errorf("encode the request %s: %w", r.method, err)
	}
	// With room for the response, so that receive never waits for this call: it serves all others, too.
	answer := make(chan response, 1)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, ended()
	}
	c.next++
	id := c.next
	c.waiting[id] = answer
	c.mu.Unlock()
	if err := c.conn.Send(protocol.Message{ID: id, Method: r.method, Body: body}, r.files...); err != nil {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		return nil, fmt.Errorf("send the request %s: %w", r.method, err)
	}
	select {
	case a := <-answer:
		return finish(a, result)
	case <-ctx.Done():
		// The helper process still handles the request: the result, such as a started container, would stay unused.
		go func() {
			a := <-answer
			protocol.CloseAll(a.files)
			if a.message.Error == nil && r.undo != nil {
				r.undo()
			}
		}()
		return nil, ctx.Err()
	}
}

func finish(a response, result any) ([]*os.File, error) {
	if a.message.Error != nil {
		protocol.CloseAll(a.files)
		return nil, a.message.Error
	}
	if result == nil {
		return a.files, nil
	}
	if err := json.Unmarshal(a.message.Body, result); err != nil {
		protocol.CloseAll(a.files)
		return nil, fmt.Errorf("decode a result: %w", err)
	}
	return a.files, nil
}
