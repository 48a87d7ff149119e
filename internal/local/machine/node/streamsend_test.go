package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

// output runs a command in the container main of the pod one, and returns what it prints.
func (c *cluster) output(t *testing.T, namespace string, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	code, err := c.stream(t.Context(), "WebSocket", call{namespace, "one", "main", command, remotecommand.StreamOptions{Stdout: &out}})
	if err != nil || code != 0 {
		t.Errorf("%q: exit code %d, %v", command, code, err)
	}
	return out.String()
}

// noSessions waits until no goroutine serves a session.
func noSessions(t *testing.T) {
	t.Helper()
	nodetest.Eventually(t, "no session is left", func() error {
		var stacks bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
			return err
		}
		for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
			for _, part := range []string{"/node/streams.", "cri-streaming/", "sandboxed.(*run).Execute", "sandboxed.(*run).Attach"} {
				if strings.Contains(stack, part) {
					return fmt.Errorf("a goroutine is left: %s", stack)
				}
			}
		}
		return nil
	})
}

// blocked is an input without data, until its context ends.
type blocked struct{ context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.Done()
	return 0, io.EOF
}

func TestACommandEndsWithItsClient(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold")
	eachProtocol(t, func(t *testing.T, protocol string) {
		for name, options := range map[string]remotecommand.StreamOptions{
			"that sends input":  {Stdin: blocked{t.Context()}, Stdout: io.Discard},
			"that only listens": {Stdout: io.Discard},
			"with a terminal":   {Stdin: blocked{t.Context()}, Stdout: io.Discard, Tty: true},
		} {
			t.Run(name, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = c.stream(ctx, protocol, call{ns, "one", "main", []string{"/app", "hold", "marker"}, options})
				}()
				nodetest.Eventually(t, "the command runs", func() error {
					if !strings.Contains(c.output(t, ns, "/app", "processes"), "marker") {
						return fmt.Errorf("it does not")
					}
					return nil
				})
				leave()
				await(t, done, "the client has left")
				nodetest.Eventually(t, "the command has ended", func() error {
					if out := c.output(t, ns, "/app", "processes"); strings.Contains(out, "marker") {
						return fmt.Errorf("it runs still: %s", out)
					}
					return nil
				})
			})
		}
		noSessions(t)
	})
}

func TestLongBinaryOutputArrivesWhole(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold")
	const size = 40 << 20
	want := sha256.New()
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = byte(i)
	}
	for range size / len(block) {
		want.Write(block)
	}
	eachProtocol(t, func(t *testing.T, protocol string) {
		got := sha256.New()
		code, err := c.stream(t.Context(), protocol, call{ns, "one", "main", []string{"/app", "flood", fmt.Sprint(size)}, remotecommand.StreamOptions{Stdout: got}})
		if err != nil || code != 0 || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
			t.Errorf("exit code %d, %v, checksum %x, want %x", code, err, got.Sum(nil), want.Sum(nil))
		}
	})
}

func TestAHundredCommandsRunAtOnce(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold")
	var group sync.WaitGroup
	for i := range 100 {
		protocol := []string{"SPDY", "WebSocket"}[i%2]
		group.Go(func() {
			var out bytes.Buffer
			text := fmt.Sprintf("number %d", i)
			code, err := c.stream(t.Context(), protocol, call{ns, "one", "main", []string{"/app", "echo"},
				remotecommand.StreamOptions{Stdin: strings.NewReader(text), Stdout: &out}})
			if err != nil || code != 0 || out.String() != text {
				t.Errorf("command %d: exit code %d, %v, output %q", i, code, err, out.String())
			}
		})
	}
	group.Wait()
	if out := c.output(t, ns, "/app", "processes"); strings.Contains(out, "echo") {
		t.Errorf("a command is left: %s", out)
	}
	noSessions(t)
}

func TestACommandEndsWithItsPod(t *testing.T) {
	c := realCluster(t)
	ns := c.interactive(t, "hold")
	done, began := make(chan struct{}), newUntil("ready")
	go func() {
		defer close(done)
		in, typed := io.Pipe()
		defer typed.Close()
		if code, err := c.stream(t.Context(), "SPDY", call{ns, "one", "main", []string{"/app", "lines"},
			remotecommand.StreamOptions{Stdin: in, Stdout: began}}); err == nil && code != 137 {
			t.Errorf("the command ended with the exit code %d, want 137 or an error", code)
		}
	}()
	await(t, began.seen, "the command runs")
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, done, "the command has ended")
	c.gone(t, ns, "one")
	noSessions(t)
}
