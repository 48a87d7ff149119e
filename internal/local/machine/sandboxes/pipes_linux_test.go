package sandboxes

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
	"github.com/strata-platform/strata/test/long"
)

// late is a writer whose first write takes longer than drainTimeout.
type late struct {
	bytes.Buffer
	once sync.Once
}

func (l *late) Write(p []byte) (int, error) {
	l.once.Do(func() { <-time.After(drainTimeout + time.Second) })
	return l.Buffer.Write(p)
}

func TestTheOutputOfAnEndedProcessWaitsForASlowWriterButNotForAnotherProcess(t *testing.T) {
	long.Test(t)
	var slow late
	p, err := newPipes(Streams{Stdout: &slow}, false)
	if err != nil {
		t.Fatal(err)
	}
	// This process stands for one that was left behind: it keeps the streams open.
	defer protocol.CloseAll(p.theirs)
	text := bytes.Repeat([]byte("x"), pipeSize)
	if _, err := p.theirs[1].Write(text); err != nil {
		t.Fatal(err)
	}
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	if slow.Len() != len(text) {
		t.Errorf("the writer got %d bytes, want %d", slow.Len(), len(text))
	}
}
