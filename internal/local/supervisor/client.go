package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/internal/local/process"
)

// ExitLocked is the exit code of the supervisor command where another supervisor holds the home's lock.
const ExitLocked = 3

// Command is the hidden command of strata that is the supervisor; --home follows it.
const Command = "supervisor"

const (
	startTimeout = 30 * time.Second
	// stopTimeout leaves a pod the time that the node gives it, and the control plane and the databases theirs.
	stopTimeout = 2 * time.Minute
	pollEvery   = 20 * time.Millisecond
	// respawnEvery is how long to wait for another supervisor to answer or to end.
	respawnEvery = 500 * time.Millisecond
)

// ErrNotRunning says that the home has no supervisor now.
var ErrNotRunning = errors.New("nothing runs in this home")

// Client speaks to the supervisor of a home.
type Client struct {
	home home.Home
	http *http.Client
}

// Connect returns a client for the home's supervisor, whether or not it runs.
func Connect(h home.Home) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, done, err := socketPath(h)
		if err != nil {
			return nil, err
		}
		defer done()
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &Client{home: h, http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Status asks the supervisor how it is. Without one the error is ErrNotRunning.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.call(ctx, http.MethodGet, "/status", &status)
	return status, err
}

// StartCluster starts the control plane without any layer and returns when its node takes pods.
func (c *Client) StartCluster(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/cluster", nil)
}

// CreateRepository makes a Git repository where there is none of that name.
func (c *Client) CreateRepository(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, "/repositories/"+url.PathEscape(name), nil)
}

// Start starts the supervisor in the background where none runs, and returns when it answers. executable is strata.
func (c *Client) Start(ctx context.Context, executable, repository string) error {
	if _, err := c.Status(ctx); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	logPath := c.home.Log(Command)
	if err := os.MkdirAll(filepath.Dir(logPath), 0o700); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	defer log.Close()
	var ended chan error
	for {
		if ended == nil {
			if ended, err = c.spawn(executable, repository, log); err != nil {
				return fmt.Errorf("start the supervisor: %w", err)
			}
		}
		if _, err := c.Status(ctx); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != ExitLocked {
				return fmt.Errorf("start the supervisor: %s; see %s", process.LastLine(logPath), logPath)
			}
			// Another supervisor starts or stops: it will answer, or leave the lock to the next one.
			ended = nil
			select {
			case <-ctx.Done():
			case <-time.After(respawnEvery):
			}
		case <-ctx.Done():
			return fmt.Errorf("start the supervisor: it does not answer after %s; see %s", startTimeout, logPath)
		case <-time.After(pollEvery):
		}
	}
}

// spawn starts a supervisor that outlives this process. The channel tells how it ended.
func (c *Client) spawn(executable, repository string, log *os.File) (chan error, error) {
	command := exec.Command(executable, Command, "--home", c.home.Dir(), "--repository", repository)
	command.Stdout, command.Stderr, command.Dir = log, log, c.home.Dir()
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	return ended, nil
}

// Stop stops the supervisor and all it runs, and returns when it is gone. It is no error when none runs.
func (c *Client) Stop(ctx context.Context) error {
	if !c.home.Exists() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	var asked bool
	var refusal error
	for {
		// One that does not answer is still starting, or ending: it is gone when the lock is free.
		if !asked {
			refusal = c.call(ctx, http.MethodPost, "/stop", nil)
			asked = refusal == nil
		}
		release, err := c.home.Acquire()
		if err == nil {
			release()
			return nil
		}
		if !errors.Is(err, home.ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("stop the supervisor: it still runs after %s; see %s", stopTimeout, c.home.Log(Command)), refusal)
		case <-time.After(pollEvery):
		}
	}
}

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
		// The connection to a supervisor that dies before it takes the request is reset.
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) {
			return ErrNotRunning
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
