// Package gohost implements the local target's language host for Go, with which the toolchain's Pulumi CLI runs the
// program in a layer's folder. The host only builds and runs programs. Other features of a language host, such as
// generating code or running plugins in Go, need the official one.
package gohost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Executable is the name under which Pulumi looks for the language host of Go programs.
const Executable = "pulumi-language-go"

// engineCheck is the interval at which the host checks that its engine still runs.
const engineCheck = 2 * time.Second

// Serve runs the language host. It prints its port on stdout, serves the engine and returns when ctx or the engine has
// ended. The last of args is the engine's address. Without args, the engine sends its address by Handshake.
func Serve(ctx context.Context, stdout io.Writer, version string, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &host{version: version, stop: cancel, running: ctx}
	if len(args) > 0 {
		if err := h.attach(args[len(args)-1]); err != nil {
			return err
		}
	}
	stopped := make(chan bool)
	context.AfterFunc(ctx, func() { close(stopped) })
	server, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{Cancel: stopped, Init: func(s *grpc.Server) error {
		pulumirpc.RegisterLanguageRuntimeServer(s, h)
		return nil
	}})
	if err != nil {
		return fmt.Errorf("serve the Go language host: %w", err)
	}
	fmt.Fprintln(stdout, server.Port)
	return <-server.Done
}

// host serves one engine.
type host struct {
	// The other methods return Unimplemented, which the engine handles.
	pulumirpc.UnimplementedLanguageRuntimeServer

	version string
	// stop cancels running, the context of all programs. The host calls it when the engine cancels or has ended.
	running context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	engine string
}

// attach sets the engine's address, and stops the host when the engine has ended.
func (h *host) attach(address string) error {
	if err := rpcutil.Healthcheck(h.running, address, engineCheck, h.stop); err != nil {
		return fmt.Errorf("reach the engine at %s: %w", address, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.engine = address
	return nil
}

func (h *host) engineAddress() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.engine == "" {
		return "", errors.New("the Go language host has no address of an engine: pass it as an argument, or call Handshake")
	}
	return h.engine, nil
}

// Handshake sets the engine of a host that started without an address.
func (h *host) Handshake(_ context.Context, req *pulumirpc.LanguageHandshakeRequest) (*pulumirpc.LanguageHandshakeResponse, error) {
	return &pulumirpc.LanguageHandshakeResponse{}, h.attach(req.GetEngineAddress())
}

// Cancel ends all programs. The engine calls it when the user interrupts a run.
func (h *host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	h.stop()
	return &emptypb.Empty{}, nil
}

// GetPluginInfo returns the host's version.
func (h *host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: h.version}, nil
}

// RunPlugin returns an error, because this host does not run plugins from source.
func (h *host) RunPlugin(req *pulumirpc.RunPluginRequest, _ pulumirpc.LanguageRuntime_RunPluginServer) error {
	return status.Errorf(codes.Unimplemented, "run the plugin in %s: the local Go language host runs programs only: put the built plugin on PATH, or use the official Pulumi CLI",
		req.GetInfo().GetProgramDirectory())
}

// tell shows a temporary line in the engine's display. It ignores errors, because the line is only for information.
func (h *host) tell(ctx context.Context, engine, message string) {
	conn, err := grpc.NewClient(engine, grpc.WithTransportCredentials(insecure.NewCredentials()), rpcutil.GrpcChannelOptions())
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = pulumirpc.NewEngineClient(conn).Log(ctx, &pulumirpc.LogRequest{
		Severity: pulumirpc.LogSeverity_INFO, Message: message, Ephemeral: true,
	})
}

// until returns a context that ends with ctx or when the engine cancels, and the function that releases it.
func (h *host) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.running, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
