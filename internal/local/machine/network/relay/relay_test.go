package relay

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// joined returns the outer ends of two connections whose inner ends Streams relays, and a function that waits for it.
func joined(ctx context.Context, t *testing.T) (left, right net.Conn, wait func()) {
	t.Helper()
	left, a := pair(t)
	right, b := pair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Streams(ctx, a, b)
	}()
	return left, right, func() { <-done }
}

func TestStreamsPassTheEndOfOneDirection(t *testing.T) {
	left, right, wait := joined(t.Context(), t)
	if _, err := left.Write([]byte("request")); err != nil {
		t.Fatal(err)
	}
	if err := left.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(right); err != nil || string(got) != "request" {
		t.Fatalf("the server read %q, %v", got, err)
	}
	if _, err := right.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	right.Close()
	if got, err := io.ReadAll(left); err != nil || string(got) != "answer" {
		t.Errorf("the client read %q, %v", got, err)
	}
	wait()
}

func TestStreamsPassAReset(t *testing.T) {
	left, right, wait := joined(t.Context(), t)
	Reset(right)
	if _, err := io.ReadAll(left); err == nil {
		t.Error("the client saw an orderly end after a reset of the server")
	}
	wait()
}

func TestStreamsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left, _, wait := joined(ctx, t)
	cancel()
	wait()
	if _, err := io.ReadAll(left); err == nil {
		t.Error("the client saw an orderly end after the end of the context")
	}
}

func TestPacketsEndWhenTheFlowIsIdle(t *testing.T) {
	a, left := net.Pipe()
	b, right := net.Pipe()
	defer left.Close()
	defer right.Close()
	var active atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		Packets(t.Context(), a, b, func(answered bool) time.Duration {
			if answered {
				return 10 * time.Millisecond
			}
			return time.Hour
		}, &active)
	}()
	buffer := make([]byte, 10)
	for _, ends := range [][2]net.Conn{{left, right}, {right, left}} {
		if _, err := ends[0].Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if n, err := ends[1].Read(buffer); err != nil || string(buffer[:n]) != "hello" {
			t.Fatalf("the packet is %q, %v", buffer[:n], err)
		}
	}
	// The second packet answered the first, so the flow is idle after 10 ms of silence.
	<-done
	if active.Load() == 0 {
		t.Error("no packet has set the time of the flow")
	}
}
