// Package stratatest provides tests, benchmarks and soaks with a platform of their own, run by the strata command.
package stratatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Platform is a local platform with a home of its own.
type Platform struct {
	// Dir is a temporary folder that contains Home. It is removed when the test ends.
	Dir string
	// Home is the folder of the platform's state. The first command that needs it creates it.
	Home string

	t   testing.TB
	end func() error // stops the platform's processes and removes the home, once
	command
}

// Main runs the tests of a package that uses New, and returns the exit code for TestMain. Platforms run in sessions of
// their own, so Main also stops them if the tests are interrupted.
func Main(m *testing.M) int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		built.Lock() // never unlocked, so that the tests' own end waits for this one
		for _, p := range built.platforms {
			if err := p.end(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		_ = os.RemoveAll(built.dir)
		os.Exit(1)
	}()
	code := m.Run()
	built.Lock()
	defer built.Unlock()
	_ = os.RemoveAll(built.dir)
	return code
}

// New returns a platform without running processes. It stops the platform at the end of the test. Under -short it skips
// the test.
func New(t testing.TB) *Platform {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the toolchain")
	}
	command, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	built.Lock()
	defer built.Unlock()
	dir, err := os.MkdirTemp(built.dir, "platform-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Platform{Dir: dir, Home: filepath.Join(dir, "home"), t: t, command: command}
	p.end = sync.OnceValue(func() error { return errors.Join(p.stop(), os.RemoveAll(dir)) })
	built.platforms = append(built.platforms, p)
	t.Cleanup(func() {
		if err := p.end(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// NewWithTools is like New, but first builds all tools, in the test's own time and log.
func NewWithTools(t testing.TB) *Platform {
	t.Helper()
	p := New(t)
	p.Run("toolchain", "build", "--all")
	return p
}

// stopTimeout limits the stop of a platform.
const stopTimeout = 2 * time.Minute

// stop stops the platform's processes. A supervisor that an interrupted command has just started does not answer the
// first stop yet, so a second one is needed.
func (p *Platform) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = p.Try(ctx, "local", "stop")
		return len(p.Processes()) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("stop the platform: %v still run: %w", p.Processes(), errors.Join(err, last))
	}
	return last
}

// Run runs strata on the platform and returns its standard output. A failure ends the test.
func (p *Platform) Run(args ...string) []byte {
	p.t.Helper()
	out, err := p.Try(p.t.Context(), args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// Try is like Run for commands that may fail. The error contains the command's standard error.
func (p *Platform) Try(ctx context.Context, args ...string) ([]byte, error) {
	cmd := p.Command(ctx, args...)
	out, err := cmd.Output()
	if err != nil {
		stderr := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			stderr = string(exit.Stderr)
		}
		return out, fmt.Errorf("strata %s: %w\n%s", strings.Join(args, " "), err, stderr)
	}
	return out, nil
}

// Command returns a command of strata on the platform, for callers that need more than its output.
func (p *Platform) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.executable, args...)
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "STRATA_HOME="+p.Home, "GIT_CONFIG_GLOBAL="+os.DevNull)
	return cmd
}

// Kubernetes returns the administrator's client for the running cluster, without a rate limit.
func (p *Platform) Kubernetes() kubernetes.Interface {
	p.t.Helper()
	h, err := home.At(p.Home)
	if err != nil {
		p.t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", h.AdminKubeconfig())
	if err != nil {
		p.t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		p.t.Fatal(err)
	}
	return client
}
