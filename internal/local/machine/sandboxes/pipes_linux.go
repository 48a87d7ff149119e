package sandboxes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
)

// The output of an ended process is copied until its end. Processes that it has left behind may hold its streams open, so the copy
// also ends when nothing comes for drainTimeout, and after pipeSize bytes, because a pipe holds no more (pipe(7)). The time that a
// writer takes does not count.
const (
	drainTimeout = 5 * time.Second
	pipeSize     = 64 << 10
)

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
	ended  atomic.Bool // the process has ended
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
		err := p.copy(to, from)
		if err == nil || errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.EIO) {
			return // A terminal ends with EIO.
		}
		p.mu.Lock()
		if p.err == nil {
			p.err = fmt.Errorf("copy the output of a process: %w", err)
		}
		p.mu.Unlock()
		_ = p.copy(io.Discard, from)
	})
}

// copy copies the output of the process, and what is left of it after the end of the process.
func (p *pipes) copy(to io.Writer, from *os.File) error {
	buffer := make([]byte, 32<<10)
	for rest := pipeSize; rest > 0; {
		ended := p.ended.Load()
		if ended {
			_ = from.SetReadDeadline(time.Now().Add(drainTimeout))
		}
		n, err := from.Read(buffer)
		if ended {
			rest -= n
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish waits for the rest of the output of an ended process, closes the pipes, and returns the error of a writer.
func (p *pipes) finish() error {
	p.ended.Store(true)
	for _, from := range p.outputs {
		_ = from.SetReadDeadline(time.Now().Add(drainTimeout)) // It reaches a read that has begun.
	}
	p.copies.Wait()
	p.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *pipes) close() {
	protocol.CloseAll(append(p.outputs, p.input))
}

func (p *pipes) hasTerminal() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.terminal != nil
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
