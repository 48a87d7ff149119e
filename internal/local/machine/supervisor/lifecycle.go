package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/operator/sandbox"
)

// Command is the hidden command of strata that runs the supervisor; --home follows it. Start passes the home's lock to
// the supervisor, so that a concurrent stop finds either no supervisor or a locked home.
const Command = "supervisor"

const (
	// startTimeout is how long a supervisor may take to answer after its start.
	startTimeout = 30 * time.Second
	// stopTimeout covers the grace periods of pods, of the control plane and of the databases. Stop kills a supervisor
	// that takes longer.
	stopTimeout = 2 * time.Minute
	// killTimeout is how long a killed supervisor may take to end.
	killTimeout = 15 * time.Second
	pollEvery   = 20 * time.Millisecond
	// respawnEvery is the interval between checks whether another supervisor answers or has ended.
	respawnEvery = 500 * time.Millisecond
)

// Start starts the supervisor in the background unless it runs, and returns when it answers. Start waits for the end
// of a supervisor that is stopping. executable is the path of strata.
func (c *Client) Start(ctx context.Context, executable, repository string) error {
	patience := time.After(stopTimeout + killTimeout)
	for {
		status, err := c.Status(ctx)
		if err == nil && !status.Stopping {
			return nil
		}
		if err != nil && !errors.Is(err, ErrNotRunning) {
			return err
		}
		if err != nil {
			// Another supervisor that is starting or stopping will answer, or free the lock.
			if err := c.launch(ctx, executable, repository); !errors.Is(err, home.ErrLocked) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start the supervisor: %w", ctx.Err())
		case <-patience:
			return fmt.Errorf("start the supervisor: another supervisor (pid %d) neither answers nor ends: end it with `%s`; its log is %s",
				c.home.Holder(), c.home.Call("local stop"), c.home.Log(Command))
		case <-time.After(respawnEvery):
		}
	}
}

// lockFile is the descriptor through which a supervisor gets the home's lock.
const lockFile = 3

// launch starts a supervisor that outlives this process, and returns when a supervisor answers. If another process
// holds the lock, the error is home.ErrLocked.
func (c *Client) launch(ctx context.Context, executable, repository string) error {
	lock, err := c.home.Lend()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	defer lock.Close()
	path := c.home.Log(Command)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	defer log.Close()
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	command := exec.Command(executable, Command, "--home", c.home.Dir(), "--repository", repository)
	command.Stdout, command.Stderr, command.Dir = log, log, c.home.Dir()
	command.ExtraFiles = []*os.File{lock}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// The supervisor confines its programs with namespaces. An ordinary user can create them only in a user namespace.
	// A process there cannot see leftover processes outside, so launch ends them first.
	sandbox.UserNamespace(command.SysProcAttr)
	if _, err := process.EndLeftovers(ctx, workFolders(c.home)...); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	home.LentTo(lock, command.Process.Pid)
	lock.Close() // so that the lock is free when the supervisor has ended
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	patience := time.After(startTimeout)
	for {
		if status, err := c.Status(ctx); err == nil && !status.Stopping {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("start the supervisor: %s; its log is %s", endReason(path, offset, err), path)
		case <-ctx.Done():
			return fmt.Errorf("start the supervisor: %w", ctx.Err())
		case <-patience:
			return fmt.Errorf("start the supervisor: it does not answer after %s; its log is %s", startTimeout, path)
		case <-time.After(pollEvery):
		}
	}
}

// endReason returns the reason why a supervisor has ended: the essence of its log after an offset, or else its exit
// status.
func endReason(log string, offset int64, end error) string {
	text, _ := os.ReadFile(log)
	if int64(len(text)) >= offset {
		text = text[offset:]
	}
	if words := strings.TrimPrefix(process.Essence(text), "strata: "); words != "" {
		return words
	}
	return fmt.Sprintf("it ended (%v)", end)
}

// Stop stops the supervisor and all its programs, and returns when the supervisor is gone, even if another one has started
// meanwhile. If no supervisor runs, Stop ends the leftovers of a killed one and returns nil. Stop kills a supervisor that
// hangs.
func (c *Client) Stop(ctx context.Context) error {
	if !c.home.Exists() {
		return nil
	}
	patience, asked, killed := time.After(stopTimeout), false, false
	for {
		if !asked {
			err := c.ask(ctx, http.MethodPost, "/stop", nil)
			// A supervisor that does not listen is starting or ending. When the lock is free, it is gone.
			asked = err == nil
			if errors.Is(err, errHangs) {
				patience = time.After(0)
			}
		}
		release, err := c.home.Acquire()
		if err == nil {
			defer release()
			return c.endLeftovers(ctx)
		}
		if !errors.Is(err, home.ErrLocked) {
			return err
		}
		if asked && !killed {
			// A concurrent Start has waited for this end, and its supervisor holds the lock now.
			if status, err := c.Status(ctx); err == nil && !status.Stopping {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop the supervisor: %w", ctx.Err())
		case <-patience:
			holder := c.home.Holder()
			if killed {
				// SIGKILL has no effect on a process that waits for the kernel, such as for a disk that does not answer.
				return fmt.Errorf("stop the supervisor: pid %d does not end after SIGKILL: wait for its end, or restart the machine; its log is %s", holder, c.home.Log(Command))
			}
			if err := kill(holder); err != nil {
				return fmt.Errorf("stop the supervisor: end pid %d, which hangs: %w", holder, err)
			}
			asked, killed, patience = true, true, time.After(killTimeout)
		case <-time.After(pollEvery):
		}
	}
}

// endLeftovers ends the leftover processes of a killed supervisor and of killed runs of a layer. It leaves a run in
// progress alone.
func (c *Client) endLeftovers(ctx context.Context) error {
	folders := workFolders(c.home)
	if release, err := c.home.AcquireLayers(); err == nil {
		defer release()
		folders = append(folders, c.home.Layers())
	} else if !errors.Is(err, home.ErrLocked) {
		return err
	}
	_, err := process.EndLeftovers(ctx, folders...)
	return err
}

// kill kills a supervisor. The supervisor's programs end with it.
func kill(pid int) error {
	if pid == 0 {
		return errors.New("the PID is unknown")
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// resume starts the databases and the cluster that ran when the supervisor last stopped. It logs errors.
func (s *supervisor) resume(ctx context.Context) {
	if err := s.google.Start(ctx); err != nil && ctx.Err() == nil {
		s.Log.Error("resume the emulated Google Cloud", "error", err)
	}
	if controlplane.Exists(s.Home) {
		if err := s.cluster.start(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("resume the cluster", "error", err)
		}
	}
}
