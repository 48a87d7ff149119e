package logfile_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("timeout: waited until %s: %v", what, err)
	}
}

// program stands for a program that writes a log. Its output goes through a pipe, like a real program's.
type program struct {
	t      *testing.T
	output io.WriteCloser
	done   chan struct{}
}

func run(t *testing.T, path string, stamps bool) *program {
	t.Helper()
	writer, err := logfile.Open(path, stamps)
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, output: out, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		writer.Copy(in)
		in.Close()
		writer.Close()
	}()
	t.Cleanup(p.end)
	return p
}

func (p *program) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.output, text); err != nil {
		p.t.Fatal(err)
	}
}

// end ends the program and waits until its log is complete.
func (p *program) end() {
	p.output.Close()
	<-p.done
}

// written writes the log of a program that printed text and ended.
func written(t *testing.T, path string, stamps bool, text string) {
	t.Helper()
	p := run(t, path, stamps)
	p.say(text)
	p.end()
}

func read(t *testing.T, path string, o logfile.Options) string {
	t.Helper()
	var text strings.Builder
	if err := logfile.Read(t.Context(), path, o, &text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// lockedBuffer is a buffer for concurrent reads and writes.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
