// Package gohost is the local target's language host for Go: with it the toolchain's Pulumi CLI runs a layer's program
// from the layer's folder. It builds programs and runs them; what else Pulumi asks of a language host, such as writing
// code or running plugins that are written in Go, is for the official one.
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

// engineCheck is how often the host looks whether its engine lives.
const engineCheck = 2 * time.Second

// Serve is the process of the language host. It prints its port on stdout, answers the engine whose address is the last
// of args, and returns when ctx or the engine has ended. Without args the engine introduces itself by Handshake.
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

// host answers one engine.
type host struct {
	// What is not answered here is answered with Unimplemented, which the engine understands.
	pulumirpc.UnimplementedLanguageRuntimeServer

	version string
	// running ends, by stop, when the engine cancels or is gone: then every program ends.
	running context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	engine string
}

// attach makes address the engine's, and ends the host when the engine is gone.
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
		return "", errors.New("the Go language host knows no engine: give its address as argument, or call Handshake")
	}
	return h.engine, nil
}

// Handshake tells a host that was started without an engine of its engine.
func (h *host) Handshake(_ context.Context, req *pulumirpc.LanguageHandshakeRequest) (*pulumirpc.LanguageHandshakeResponse, error) {
	return &pulumirpc.LanguageHandshakeResponse{}, h.attach(req.GetEngineAddress())
}

// Cancel ends what runs; the engine calls it when it is interrupted.
func (h *host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	h.stop()
	return &emptypb.Empty{}, nil
}

// GetPluginInfo names the host's version.
func (h *host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: h.version}, nil
}

// RunPlugin refuses plugins whose source is in a folder: this host runs programs.
func (h *host) RunPlugin(req *pulumirpc.RunPluginRequest, _ pulumirpc.LanguageRuntime_RunPluginServer) error {
	return status.Errorf(codes.Unimplemented, "run the plugin in %s: the local Go language host runs programs only: put the built plugin on PATH, or use the official Pulumi CLI",
		req.GetInfo().GetProgramDirectory())
}

// tell shows a line in the engine's display for as long as it is news. A display that cannot be reached is no failure.
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

// until returns ctx, ended also by the engine's cancellation. The function releases it.
func (h *host) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.running, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
