package sandboxes_test

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

func TestTheGatewaysEndHoldsAsMuchAsTheKernelAllows(t *testing.T) {
	h := start(t)
	p, link, err := h.CreatePod(t.Context(), spec.Pod{ID: "pod", Network: spec.Network{Address: netip.MustParsePrefix("10.7.0.5/24")}})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	raw, err := link.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for limit, option := range map[string]int{"rmem_max": unix.SO_RCVBUF, "wmem_max": unix.SO_SNDBUF} {
		text, err := os.ReadFile("/proc/sys/net/core/" + limit)
		if err != nil {
			t.Fatal(err)
		}
		allowed, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		var size int
		var failed error
		if err := raw.Control(func(fd uintptr) { size, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, option) }); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		// The kernel doubles the size, for its own records of packets (socket(7)).
		if want := 2 * min(allowed, 4<<20); size != want {
			t.Errorf("the buffer bounded by %s has %d bytes, want %d", limit, size, want)
		}
	}
	if err := p.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}
