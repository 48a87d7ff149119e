package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// request asks for the build of a folder. The two processes exchange a sequence of JSON messages.
type request struct{ Folder, Namespace string }

// message is a message of the building process: it needs a file, or reports the result of the build.
type message struct {
	// Needs is the path of a file or folder. It is empty at the end of the build.
	Needs string `json:",omitempty"`
	result
}

// result is the outcome of a build.
type result struct {
	// Failure is the reason why the build failed.
	Failure string `json:",omitempty"`
	Objects int    `json:",omitempty"`
	Bytes   int64  `json:",omitempty"`
}

// answer is the content of a path in the repository.
type answer struct {
	IsFolder bool   `json:",omitempty"`
	IsFile   bool   `json:",omitempty"`
	Content  []byte `json:",omitempty"`
}

// errEnded means that the building process has exited by itself.
var errEnded = errors.New("the process has ended")

// process is the building process. It has no access to files, and requests those of the repository.
type process struct {
	cell   *sandbox.Cell
	input  io.WriteCloser
	output io.Closer
	asks   *json.Encoder
	hears  *json.Decoder
}

func start(limits Limits) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Near the limit, the garbage collector works harder.
	cmd := &exec.Cmd{Path: self, Args: []string{Executable}, Env: []string{fmt.Sprintf("GOMEMLIMIT=%d", limits.Memory/4*3)}, Dir: "/"}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cell, err := sandbox.Start(cmd, sandbox.Confinement{
		Grants:  append(sandbox.Grants(""), sandbox.Grant{Path: self}),
		Network: &sandbox.Network{},
		Limits:  sandbox.Limits{Memory: uint64(limits.Memory), First: true},
	})
	if err != nil {
		input.Close()
		output.Close()
		return nil, err
	}
	return &process{cell: cell, input: input, output: output, asks: json.NewEncoder(input), hears: json.NewDecoder(output)}, nil
}

func (p *process) kill() { _ = p.cell.Signal(syscall.SIGKILL) } // The process may have ended.

func (p *process) end() {
	p.kill()
	p.input.Close()
	p.output.Close()
	_ = p.cell.Wait() // The process was killed.
}

// build runs the build of a folder, and answers its requests for files.
func (p *process) build(repository fs.FS, r request) (result, error) {
	if p.asks.Encode(r) != nil {
		return result{}, errEnded
	}
	for {
		var said message
		switch {
		case p.hears.Decode(&said) != nil:
			return result{}, errEnded
		case said.Needs == "":
			return said.result, nil
		}
		found, err := look(repository, strings.TrimPrefix(said.Needs, "/"))
		if err != nil {
			return result{}, err
		}
		if p.asks.Encode(found) != nil {
			return result{}, errEnded
		}
	}
}

// look reads a path of the repository. It does not follow symbolic links, because Flux omits them from its builds.
func look(repository fs.FS, name string) (answer, error) {
	if name == "" {
		name = "."
	}
	if !fs.ValidPath(name) {
		return answer{}, nil
	}
	info, err := fs.Lstat(repository, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return answer{}, nil
	case err != nil:
		return answer{}, err
	case info.IsDir():
		return answer{IsFolder: true}, nil
	case !info.Mode().IsRegular():
		return answer{}, nil
	}
	content, err := fs.ReadFile(repository, name)
	return answer{IsFile: true, Content: content}, err
}
