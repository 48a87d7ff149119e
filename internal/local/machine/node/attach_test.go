package node

import (
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

// reader creates a pod whose container answers each line of its input.
func (c *cluster) reader(t *testing.T, change func(*corev1.Container)) (namespace string) {
	t.Helper()
	image := appImage(t)
	namespace = c.namespace(t)
	container := corev1.Container{Name: "main", Image: image, Args: []string{"lines"}, Stdin: true}
	change(&container)
	c.create(t, namespace, "one", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}})
	nodetest.Eventually(t, "the program reads its input", func() error {
		if !strings.Contains(c.log(namespace, "one", "main"), "ready") {
			return fmt.Errorf("its log is %q", c.log(namespace, "one", "main"))
		}
		return nil
	})
	return namespace
}

func TestAttachSharesTheInputAndTheOutputOfTheContainer(t *testing.T) {
	c := realCluster(t)
	eachProtocol(t, func(t *testing.T, protocol string) {
		ns := c.reader(t, func(*corev1.Container) {})
		for _, word := range []string{"first", "second"} { // The input stays open for the second client.
			in, typed := io.Pipe()
			answer, done := newUntil("got "+word), make(chan error, 1)
			go func() {
				_, err := c.stream(t.Context(), protocol, call{Namespace: ns, Pod: "one", Container: "main",
					StreamOptions: remotecommand.StreamOptions{Stdin: in, Stdout: answer}})
				done <- err
			}()
			fmt.Fprintln(typed, word)
			await(t, answer.seen, "the container answers")
			typed.Close()
			if err := <-done; err != nil {
				t.Errorf("the client ended with %v", err)
			}
		}
		nodetest.Eventually(t, "the log has all output", func() error {
			if log := c.log(ns, "one", "main"); log != "ready\ngot first\ngot second\n" {
				return fmt.Errorf("it is %q", log)
			}
			return nil
		})
		noSessions(t)
	})
}

func TestTheFirstClientEndsAnInputThatIsOpenOnce(t *testing.T) {
	c := realCluster(t)
	ns := c.reader(t, func(container *corev1.Container) { container.StdinOnce = true })
	out := newUntil("the input ended")
	if _, err := c.stream(t.Context(), "WebSocket", call{Namespace: ns, Pod: "one", Container: "main",
		StreamOptions: remotecommand.StreamOptions{Stdin: strings.NewReader("only\n"), Stdout: out}}); err != nil {
		t.Errorf("the client ended with %v", err)
	}
	if text := out.all.String(); !strings.HasPrefix(text, "got only\nthe input ended") {
		t.Errorf("the client got %q", text)
	}
	c.waitPod(t, ns, "one", "the pod succeeds", succeeded)
}

func TestAttachToATerminal(t *testing.T) {
	c := realCluster(t)
	ns := c.reader(t, func(container *corev1.Container) { container.TTY = true })
	in, typed := io.Pipe()
	out, done := newUntil("got bye"), make(chan error, 1)
	go func() {
		_, err := c.stream(t.Context(), "WebSocket", call{Namespace: ns, Pod: "one", Container: "main",
			StreamOptions: remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true}})
		done <- err
	}()
	fmt.Fprintln(typed, "bye")
	if err := <-done; err != nil {
		t.Errorf("the client ended with %v", err)
	}
	await(t, out.seen, "the container answers")
	c.waitPod(t, ns, "one", "the pod succeeds", succeeded)
}

func TestAContainerWithoutInputSeesItsEnd(t *testing.T) {
	c := realCluster(t)
	ns := c.reader(t, func(container *corev1.Container) { container.Stdin = false })
	c.waitPod(t, ns, "one", "the pod succeeds", succeeded)
	if log := c.log(ns, "one", "main"); !strings.Contains(log, "the input ended") {
		t.Errorf("the log is %q", log)
	}
}
