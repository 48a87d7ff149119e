package protocol_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
)

// pair returns both ends of a connection, and the raw file of the first one.
func pair(t *testing.T) (*protocol.Conn, *protocol.Conn, *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := syscall.Dup(fds[0])
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*protocol.Conn
	for i, fd := range fds {
		if conns[i], err = protocol.NewConn(os.NewFile(uintptr(fd), "socket")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conns[i].Close() })
	}
	file := os.NewFile(uintptr(raw), "raw")
	t.Cleanup(func() { file.Close() })
	return conns[0], conns[1], file
}

func TestMessagesArriveWithTheirFiles(t *testing.T) {
	a, b, raw := pair(t)
	raw.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	large, err := json.Marshal(strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		err := a.Send(protocol.Message{ID: 1, Method: protocol.Start, Body: large}, writer)
		writer.Close()
		sent <- errors.Join(err, a.Send(protocol.Message{ID: 2, Error: &protocol.Failure{Text: "no", Gone: true}}))
	}()
	first, files, err := b.Receive()
	if err != nil || first.ID != 1 || len(first.Body) != len(large) || len(files) != 1 {
		t.Fatalf("%d %d %d %v", first.ID, len(first.Body), len(files), err)
	}
	second, none, err := b.Receive()
	if err != nil || second.ID != 2 || !errors.Is(second.Error, protocol.ErrGone) || len(none) != 0 {
		t.Fatalf("%+v %v", second, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, err := files[0].WriteString("through the pipe"); err != nil {
		t.Error(err)
	}
	files[0].Close()
	if text, err := io.ReadAll(reader); err != nil || string(text) != "through the pipe" {
		t.Errorf("%s %v", text, err)
	}
	a.Close()
	if _, _, err := b.Receive(); err == nil {
		t.Error("a closed connection gives a message")
	}
}

func TestOversizedMessagesAreRefused(t *testing.T) {
	a, b, raw := pair(t)
	body, err := json.Marshal(strings.Repeat("x", protocol.MaxMessage))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Send(protocol.Message{Body: body}); err == nil {
		t.Error("a large message is sent")
	}
	if _, err := raw.Write(binary.BigEndian.AppendUint32(nil, protocol.MaxMessage+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Receive(); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a large message is received: %v", err)
	}
}
