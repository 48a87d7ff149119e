package node

import (
	"context"
	"maps"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const loopback = "127.0.0.1"

func isTrue(b *bool) bool { return b != nil && *b }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func stringValues(data map[string][]byte) map[string]string {
	values := make(map[string]string, len(data))
	for k, v := range data {
		values[k] = string(v)
	}
	return values
}

func containerNamed(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// freePort asks the kernel for a free port on loopback.
func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// wait waits for a duration. It returns false if ctx is done.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// poke sends a signal to a channel with a buffer of one. The receiver finds out by itself what has changed.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
