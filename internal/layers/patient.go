package layers

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// patient is a pulumi command that may finish its current operations after an interrupt. The Automation API's own command
// receives a terminal's Ctrl-C twice: from the terminal and from the end of the context. Pulumi stops at once after the
// second one, and the Automation API kills it ten seconds later. A resource whose creation had begun then exists in the
// cloud, but in no state.
type patient struct {
	auto.PulumiCommand
	path string
	env  []string
}

// Patient returns the pulumi command in root's bin folder, or on PATH if root is empty. When the context of a call ends,
// pulumi gets one interrupt. The call returns when pulumi has finished its current operations, without a time limit. After
// that interrupt, pulumi also gets each SIGINT or SIGTERM of this process: the first stops pulumi at once, the second kills
// it.
func Patient(root string) (auto.PulumiCommand, error) {
	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: root})
	if err != nil {
		return nil, err
	}
	if root == "" {
		path, err := exec.LookPath("pulumi")
		return patient{PulumiCommand: command, path: path}, err
	}
	bin := filepath.Join(root, "bin")
	// Pulumi finds its language hosts on PATH.
	return patient{command, filepath.Join(bin, "pulumi"), []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}}, nil
}

// leftoverOutput is how long plugins that outlive pulumi may keep its output open.
const leftoverOutput = 10 * time.Second

// Run implements auto.PulumiCommand.
func (p patient) Run(ctx context.Context, dir string, in io.Reader, out, errs []io.Writer, env []string, args ...string) (string, string, int, error) {
	if err := ctx.Err(); err != nil {
		return "", "", unknownExit, err
	}
	call := newCall(exec.Command(p.path, nonInteractive(args)...), out, errs) //nolint:gosec,noctx // The engineer's pulumi, which the context's end must not kill.
	command := call.command
	command.Dir, command.Stdin = dir, in
	command.Env = slices.Concat(os.Environ(), p.env, env, []string{automation})
	// A terminal sends its Ctrl-C to each process of its foreground process group, so pulumi gets a group of its own.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = leftoverOutput
	if err := command.Start(); err != nil {
		return "", "", unknownExit, err
	}
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		interrupt(ctx, command.Process, done)
	}()
	err := command.Wait()
	close(done)
	<-watched
	return call.result(err)
}

// interrupt sends an interrupt to a process when ctx ends. After that it forwards the signals of this process, until done
// is closed.
func interrupt(ctx context.Context, process *os.Process, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	for _, each := range []os.Signal{os.Interrupt, os.Interrupt, os.Kill} {
		// The process may have exited already; then the error does not matter.
		_ = process.Signal(each)
		select {
		case <-done:
			return
		case <-again:
		}
	}
}
