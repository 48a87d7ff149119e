package docstest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ended is the beginning of the line that a session prints after the output of commands, with their exit code.
const ended = "--- ended with "

// Session is one shell that runs the commands of a document as if a person typed them: it keeps folder and variables
// between commands, a failing command does not end it, and standard output and standard error are one stream.
type Session struct {
	dir    string
	input  io.Writer
	output *bufio.Reader
	ran    int
	end    func()
}

// NewSession starts a shell in a folder. Its environment contains only the given variables. The shell ends with the test,
// but processes that it has started in the background do not.
func NewSession(t testing.TB, dir string, environment []string) *Session {
	t.Helper()
	// A background process of the shell keeps the output pipe open. With a pipe of the test's own, command.Wait does not
	// wait for that process.
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sh")
	command.Dir, command.Env = dir, environment
	command.Stdout, command.Stderr = writer, writer
	input, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	writer.Close()
	end := sync.OnceFunc(func() {
		input.Close()
		_ = command.Wait() // The error is the exit code of the last command.
		reader.Close()
	})
	t.Cleanup(end)
	return &Session{dir: t.TempDir(), input: input, output: bufio.NewReader(reader), end: end}
}

// End ends the shell.
func (s *Session) End() { s.end() }

// Run runs commands and returns their output and the exit code of the last one. The commands have no input. An error
// means that the shell itself has ended.
func (s *Session) Run(commands string) (output string, code int, err error) {
	s.ran++
	file := filepath.Join(s.dir, strconv.Itoa(s.ran))
	if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
		return "", 0, err
	}
	if _, err := fmt.Fprintf(s.input, ". '%s' </dev/null\nprintf '%%s%%d\\n' '%s' $?\n", file, ended); err != nil {
		return "", 0, fmt.Errorf("run commands in a shell that ended: %w", err)
	}
	for {
		line, err := s.output.ReadString('\n')
		before, result, found := strings.Cut(line, ended)
		output += before
		if found {
			code, err = strconv.Atoi(strings.TrimSpace(result))
			return output, code, err
		}
		if err != nil {
			return output, 0, fmt.Errorf("the shell ended: %w\n%s", err, output)
		}
	}
}
