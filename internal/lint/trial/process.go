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

// request asks for the build of a folder. The messages between the two processes are JSON, one after the other.
type request struct{ Folder, Namespace string }

// message is what the process that builds says: that it needs a file, or what came of the build.
type message struct {
	// Needs is the path of a file or folder; empty where the build has ended.
	Needs string `json:",omitempty"`
	result
}

// result is what came of a build.
type result struct {
	// Failure is why there is none.
	Failure string `json:",omitempty"`
	Objects int    `json:",omitempty"`
	Bytes   int64  `json:",omitempty"`
}

// answer is what a path of the repository holds.
type answer struct {
	IsFolder bool   `json:",omitempty"`
	IsFile   bool   `json:",omitempty"`
	Content  []byte `json:",omitempty"`
}

// errEnded says that the process that builds has ended by itself.
var errEnded = errors.New("the process has ended")

// process is one that builds. It has no files, and asks for those of the repository.
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
	// The collector of garbage works harder before the limit is reached.
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

func (p *process) kill() { _ = p.cell.Signal(syscall.SIGKILL) } // It may have ended.

func (p *process) end() {
	p.kill()
	p.input.Close()
	p.output.Close()
	_ = p.cell.Wait() // It was killed.
}

// build has a folder built and hands out the files that this needs.
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

// look reads a path of the repository. Links are not followed, for Flux leaves them out of what it builds.
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
