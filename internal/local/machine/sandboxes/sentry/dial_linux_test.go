package sentry

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCallsWaitForAServerWhoseQueueIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	const calls = 20
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			if err := (Sandbox{Socket: path}).call(context.Background(), "method", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	for full := false; !full; { // The queue is full when nobody can connect.
		conn, err := net.Dial("unix", path)
		if full = err != nil; !full {
			conn.Close()
		}
	}
	listener, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var c call
				if json.NewDecoder(conn).Decode(&c) == nil {
					_ = json.NewEncoder(conn).Encode(answer{Success: true})
				}
			}()
		}
	}()
	group.Wait()
}
