package network

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/network/networktest"
	"github.com/strata-platform/strata/test/bench/figure"
)

// linked returns two pods, and a gateway with a Service in front of port 80 of the second one.
func linked(b *testing.B) (client, server *networktest.Pod) {
	g := open(b, nil)
	client, server = attach(b, g, 2), attach(b, g, 3)
	web, endpoints := service("web", "10.96.1.1", 80, 80, corev1.ProtocolTCP, 3)
	g.Update(State{}.with(web, endpoints))
	return client, server
}

// BenchmarkThroughput sends one gigabit from one pod to a Service of another. Both pods' stacks run in this process, too.
func BenchmarkThroughput(b *testing.B) {
	client, server := linked(b)
	l := server.Listen(b, 80)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	const gigabit = 1e9 / 8
	chunk := make([]byte, 256<<10)
	began := time.Now()
	for b.Loop() {
		conn, err := client.Dial(b.Context(), "tcp", at("10.96.1.1:80"))
		if err != nil {
			b.Fatal(err)
		}
		for sent := 0; sent < gigabit; sent += len(chunk) {
			if _, err := conn.Write(chunk); err != nil {
				b.Fatal(err)
			}
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Read(chunk); !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		conn.Close()
	}
	figure.Seconds(b, "pods' network: send 1 Gbit through a Service", time.Since(began)/time.Duration(b.N), time.Second)
}

// BenchmarkRequests sends 2000 HTTP requests from one pod to a Service of another, each over a connection of its own.
func BenchmarkRequests(b *testing.B) {
	client, server := linked(b)
	l := server.Listen(b, 80)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }),
		ReadHeaderTimeout: deadline}
	go func() { _ = web.Serve(l) }()
	b.Cleanup(func() { web.Close() })
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return client.Dial(ctx, "tcp", at("10.96.1.1:80"))
	}}}
	const requests, workers = 2000, 8
	began := time.Now()
	for b.Loop() {
		var working sync.WaitGroup
		for range workers {
			working.Go(func() {
				for range requests / workers {
					response, err := browser.Get("http://web/")
					if err != nil {
						b.Error(err)
						return
					}
					_, err = io.Copy(io.Discard, response.Body)
					if response.Body.Close(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		working.Wait()
	}
	figure.Seconds(b, "pods' network: 2000 requests through a Service", time.Since(began)/time.Duration(b.N), time.Second)
}
