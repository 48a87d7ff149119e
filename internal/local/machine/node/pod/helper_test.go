package pod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/strata-platform/strata/internal/local/machine/node/logs"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/simulated"
)

// newHost returns a node without an API server. Its runtimes are the fake one and the simulated one.
func newHost(t *testing.T) Host {
	t.Helper()
	return Host{
		IP: netip.MustParseAddr("10.128.0.1"), Runtimes: runtime.List{fakeRuntime{}, simulated.Runtime{}}, Dir: t.TempDir(), Logs: logs.Folder(t.TempDir()),
		Clock: clock.RealClock{}, Events: &record.FakeRecorder{}, Notify: func(*corev1.Pod) {}, Closing: func() bool { return false },
	}
}

// fakeRuntime runs the image example.com/program:v1, and rejects other tags.
type fakeRuntime struct {
	start func(ctx context.Context) (runtime.Run, error)
}

func (fakeRuntime) Name() string { return runtime.Process }

func (fakeRuntime) Executes() bool { return true }

func (f fakeRuntime) Find(_ *corev1.Pod, image string) (runtime.Image, error) {
	repository, tag, _ := strings.Cut(image, ":")
	switch {
	case repository != "example.com/program":
		return nil, nil
	case tag != "v1":
		return nil, errors.New("use the tag v1")
	}
	return f, nil
}

func (fakeRuntime) Enter(context.Context, runtime.Pod) (netip.Addr, error) { return netip.Addr{}, nil }

func (fakeRuntime) Leave(types.UID) {}

func (fakeRuntime) Forget(string, string, string) {}

func (f fakeRuntime) Start(ctx context.Context, _ runtime.Container) (runtime.Run, error) {
	return f.start(ctx)
}

// fakeRun never ends, and listens on port 9999.
type fakeRun struct{}

func (fakeRun) Done() <-chan struct{} { return nil }

func (fakeRun) Exit() runtime.Exit { return runtime.Exit{} }

func (fakeRun) ImageID() string { return runtime.ImageID(runtime.Process) }

func (fakeRun) Stop(time.Duration) {}

func (fakeRun) Exec(context.Context, []string) error { return nil }

func (fakeRun) Listens(port int32) bool { return port == 9999 }

func (fakeRun) Address(port int32) string { return fmt.Sprintf("fake:%d", port) }

func (fakeRun) Dial(context.Context, int32) (net.Conn, error) { return nil, errors.ErrUnsupported }
