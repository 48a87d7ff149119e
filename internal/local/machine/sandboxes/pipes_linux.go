package sandboxes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
)

// drainTimeout is how long the output of an ended process is copied. Processes that it has left behind may hold its streams open.
const drainTimeout = 5 * time.Second

// pipes connects the streams of a process with those of its caller.
type pipes struct {
	streams Streams

	// theirs are the process's ends. The caller of newPipes closes them.
	theirs []*os.File

	// input and outputs are this process's ends. With a terminal, both are the terminal.
	input    *os.File
	outputs  []*os.File
	terminal *os.File

	copies sync.WaitGroup
	mu     sync.Mutex
	err    error // the first error of a writer
}

// newPipes creates pipes for the streams, and starts to copy. A terminal needs none: see useTerminal.
func newPipes(streams Streams, terminal bool) (*pipes, error) {
	p := &pipes{streams: streams}
	if terminal {
		return p, nil
	}
	for i := range 3 {
		reader, writer, err := os.Pipe()
		if err != nil {
			protocol.CloseAll(p.theirs)
			p.close()
			return nil, fmt.Errorf("create the streams of a process: %w", err)
		}
		if i == 0 {
			p.theirs, p.input = append(p.theirs, reader), writer
		} else {
			p.theirs, p.outputs = append(p.theirs, writer), append(p.outputs, reader)
		}
	}
	p.copyOut(p.outputs[0], streams.Stdout)
	p.copyOut(p.outputs[1], streams.Stderr)
	p.copyIn(p.input, p.input.Close)
	return p, nil
}

// useTerminal copies to and from a terminal.
func (p *pipes) useTerminal(terminal *os.File) {
	// Reads of a file that the runtime polls end when the file is closed.
	if fd, err := unix.Dup(int(terminal.Fd())); err == nil {
		_ = unix.SetNonblock(fd, true)
		unix.CloseOnExec(fd)
		terminal.Close()
		terminal = os.NewFile(uintptr(fd), "terminal")
	}
	p.mu.Lock()
	p.terminal = terminal
	p.mu.Unlock()
	p.outputs = []*os.File{terminal}
	p.copyOut(terminal, p.streams.Stdout)
	p.copyIn(terminal, func() error { return nil })
}

func (p *pipes) copyIn(to io.Writer, done func() error) {
	if p.streams.Stdin == nil {
		_ = done()
		return
	}
	go func() {
		_, _ = io.Copy(to, p.streams.Stdin) // It fails when the process has ended.
		_ = done()
	}()
}

func (p *pipes) copyOut(from *os.File, to io.Writer) {
	if to == nil {
		to = io.Discard
	}
	p.copies.Go(func() {
		_, err := io.Copy(to, from)
		if err == nil || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EIO) {
			return // A terminal ends with EIO.
		}
		p.mu.Lock()
		if p.err == nil {
			p.err = fmt.Errorf("copy the output of a process: %w", err)
		}
		p.mu.Unlock()
		_, _ = io.Copy(io.Discard, from)
	})
}

// finish waits for the rest of the output of an ended process, closes the pipes, and returns the error of a writer.
func (p *pipes) finish() error {
	copied := make(chan struct{})
	go func() { p.copies.Wait(); close(copied) }()
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C:
	}
	p.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *pipes) close() {
	protocol.CloseAll(append(p.outputs, p.input))
}

// resize sets the size of the terminal.
func (p *pipes) resize(columns, rows uint16) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal == nil {
		return errors.New("resize the terminal of a process: it has no terminal")
	}
	raw, err := p.terminal.SyscallConn()
	if err != nil {
		return fmt.Errorf("resize the terminal of a process: %w", err)
	}
	var result error
	if err := raw.Control(func(fd uintptr) {
		result = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	}); err != nil {
		return fmt.Errorf("resize the terminal of a process: %w", err)
	}
	return result
}
