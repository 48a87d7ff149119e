package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// answerTimeout bounds how long a supervisor may take to answer a request that waits for no program.
const answerTimeout = 15 * time.Second

var (
	// ErrNotRunning means that the home has no supervisor.
	ErrNotRunning = errors.New("nothing runs in this home")
	// errHangs means that a supervisor does not answer within answerTimeout.
	errHangs = errors.New("it hangs")
)

// Client is a client of a home's supervisor.
type Client struct {
	home home.Home
	http *http.Client
}

// Connect returns a client for the home's supervisor, whether or not it runs.
func Connect(h home.Home) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, done, err := home.SocketPath(h.Socket())
		if err != nil {
			return nil, err
		}
		defer done()
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &Client{home: h, http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Status returns the supervisor's status. Without a supervisor, the error is ErrNotRunning.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.ask(ctx, http.MethodGet, "/status", &status)
	if errors.Is(err, errHangs) {
		err = fmt.Errorf("the supervisor of %s (pid %d) does not answer: end it with `%s`, then start again; its log is %s",
			c.home.Dir(), c.home.Holder(), c.home.Call("local stop"), c.home.Log(Command))
	}
	return status, err
}

// StartCluster starts the control plane without any layer and returns when its node accepts pods.
func (c *Client) StartCluster(ctx context.Context) error {
	err := c.call(ctx, http.MethodPost, "/cluster", nil)
	if errors.Is(err, ErrNotRunning) {
		err = fmt.Errorf("start the cluster: the supervisor ended meanwhile; its log is %s", c.home.Log(Command))
	}
	return err
}

// CreateRepository creates a Git repository unless it exists.
func (c *Client) CreateRepository(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, "/repositories/"+url.PathEscape(name), nil)
}

// ask is call with a short timeout. After the timeout, the error is errHangs.
func (c *Client) ask(ctx context.Context, method, path string, result any) error {
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errHangs)
	defer cancel()
	err := c.call(limited, method, path, result)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return errHangs
	}
	return err
}

// call sends a request to the supervisor and decodes the answer into result, unless that is nil. Without a supervisor,
// the error is ErrNotRunning.
func (c *Client) call(ctx context.Context, method, path string, result any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, nil)
	if err != nil {
		return err
	}
	if c.home.Exists() {
		secret, err := c.home.Secret(controlSecret)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	response, err := c.http.Do(request)
	if err != nil {
		// The socket is missing, nobody listens on it, or the supervisor has ended during the request.
		for _, gone := range []error{fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF} {
			if errors.Is(err, gone) {
				return ErrNotRunning
			}
		}
		return fmt.Errorf("ask the supervisor of %s: %w", c.home.Dir(), err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var failure controlError
		if err := json.NewDecoder(response.Body).Decode(&failure); err != nil {
			return fmt.Errorf("ask the supervisor of %s: %s", c.home.Dir(), response.Status)
		}
		return errors.New(failure.Error)
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(result)
}
