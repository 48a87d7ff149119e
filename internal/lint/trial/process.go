package trial

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/operator/sandbox"
)

// request requests the trial of a commit: the check of its files, or the build of a sync. The two processes exchange
// messages in the format of encoding/gob, which keeps the bytes of file names that are not UTF-8.
type request struct {
	Limits Limits
	// Sync is the spec of a Kustomization as JSON, nil for a check.
	Sync []byte
}

// message is a message of the process: it needs a path of the repository, or it returns its result.
type message struct {
	Needs need
	// Path is the path that the process needs.
	Path     string
	Problems []lint.Problem
	Built    Built
}

// need is the kind of data that the process needs about a path.
type need int

const (
	done need = iota // nothing more: the message contains the result
	info             // mode and size
	content
	entries
)

// answer describes a path of the repository.
type answer struct {
	Exists  bool
	Mode    fs.FileMode
	Size    int64
	Content []byte // of a file, or the target of a link
	Entries []entry
}

// entry is an entry of a folder.
type entry struct {
	Name string
	Mode fs.FileMode
}

// process is the confined process of a trial. It requests the files of the repository.
type process struct {
	ctx    context.Context
	cell   *sandbox.Cell
	input  io.WriteCloser
	output io.Closer
	crash  *head
	says   *gob.Encoder
	hears  *gob.Decoder
	stop   func() bool
}

// start starts this program again as the confined process of a trial: only a process of its own can have limits of memory and of
// processor time. The process ends with ctx.
func start(ctx context.Context, folder string, limits Limits) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{ctx: ctx, crash: &head{}}
	cmd := &exec.Cmd{
		Path: self, Args: []string{Executable, folder}, Dir: folder,
		// The garbage collector runs more often when the memory is close to this value.
		Env:    []string{fmt.Sprintf("GOMEMLIMIT=%d", limits.Memory/4*3), "HOME=" + folder, "TMPDIR=" + folder},
		Stderr: p.crash,
	}
	if p.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.output = output
	p.says, p.hears = gob.NewEncoder(p.input), gob.NewDecoder(output)
	p.cell, err = sandbox.Start(cmd, sandbox.Confinement{
		Grants:  append(sandbox.Grants("", folder), sandbox.Grant{Path: self}),
		Network: &sandbox.Network{},
		Limits:  sandbox.Limits{Memory: uint64(limits.Memory), First: true},
	})
	if err != nil {
		p.input.Close()
		p.output.Close()
		return nil, err
	}
	p.stop = context.AfterFunc(ctx, p.kill)
	return p, nil
}

func (p *process) kill() { _ = p.cell.Signal(syscall.SIGKILL) } // The process may have ended already.

func (p *process) end() {
	p.stop()
	p.kill()
	p.input.Close()
	p.output.Close()
	_ = p.cell.Wait() // The error says that the process was killed.
}

// ask sends a request, answers the process's questions about the repository, and returns the result.
func (p *process) ask(repository fs.FS, asked request) (message, error) {
	if p.says.Encode(asked) != nil {
		return message{}, p.ended()
	}
	for {
		var said message
		if p.hears.Decode(&said) != nil {
			return message{}, p.ended()
		}
		if said.Needs == done {
			return said, nil
		}
		found, err := look(repository, said.Needs, said.Path)
		if err != nil {
			return message{}, fmt.Errorf("read %q: %w", said.Path, err)
		}
		if p.says.Encode(found) != nil {
			return message{}, p.ended()
		}
	}
}

// look reads a path of the repository. It does not follow links.
func look(repository fs.FS, needs need, path string) (answer, error) {
	stat, err := fs.Lstat(repository, path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return answer{}, nil
	}
	if err != nil {
		return answer{}, err
	}
	found := answer{Exists: true, Mode: stat.Mode(), Size: stat.Size()}
	switch {
	case needs == content && stat.Mode()&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(repository, path)
		found.Content = []byte(target)
		return found, err
	case needs == content && stat.Mode().IsRegular():
		found.Content, err = fs.ReadFile(repository, path)
	case needs == entries && stat.IsDir():
		var all []fs.DirEntry
		all, err = fs.ReadDir(repository, path)
		for _, each := range all {
			found.Entries = append(found.Entries, entry{Name: each.Name(), Mode: each.Type()})
		}
	}
	return found, err
}

// ended waits for the end of a process that has closed its output, and returns why it ended.
func (p *process) ended() error {
	p.input.Close()
	p.output.Close()
	p.kill()
	_ = p.cell.Wait()
	return &endedError{p.crash.String()}
}

// endedError is the error of a process that has ended by itself.
type endedError struct {
	// crash is how the report of Go's runtime begins.
	crash string
}

func (e *endedError) Error() string { return "the process has ended: " + e.crash }

// reason says why the process could not check or build, for the author of the commit.
func (e *endedError) reason(what string, limits Limits) string {
	switch {
	case strings.Contains(e.crash, exceeded):
		return fmt.Sprintf("takes more than %s of processor time to %s", limits.Processor, what)
	case strings.Contains(e.crash, "stack overflow"), strings.Contains(e.crash, "stack exceeds"):
		return fmt.Sprintf("nests its values too deep to %s", what)
	}
	// Go's runtime has many messages for a lack of memory, and the process has no other reason to end.
	return fmt.Sprintf("takes more than %d MB of memory to %s", limits.Memory>>20, what)
}

// head is a writer that keeps the beginning of its input.
type head struct{ bytes.Buffer }

// Write implements io.Writer.
func (h *head) Write(data []byte) (int, error) {
	const most = 2 << 10
	h.Buffer.Write(data[:min(len(data), most-min(most, h.Len()))])
	return len(data), nil
}
