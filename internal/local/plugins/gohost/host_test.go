package gohost

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func TestTheHostEndsWithItsEngine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	checks := make(chan struct{}, 100)
	engine := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		checks <- struct{}{}
		return status.Error(codes.Unimplemented, "")
	}))
	go func() { _ = engine.Serve(listener) }()
	defer engine.Stop()
	stdout, port := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), port, "v0.0.0", []string{"-v=9", listener.Addr().String()}) }()
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case <-checks:
		case err := <-ended:
			t.Fatalf("the host ends while its engine lives: %v", err)
		}
	}
	engine.Stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the host still runs after its engine has ended")
	}
}

func TestRequiredPackagesAreTheImportedSDKs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command on the layers")
	}
	for folder, want := range map[string][]string{
		"bootstrap/run": {"gcp 7.38.0", "random 4.18.0"},
		"platform/run":  {"kubernetes 4.18.2", "random 4.18.0"},
	} {
		info := &pulumirpc.ProgramInfo{ProgramDirectory: filepath.Join(toolchaintest.Root(t), folder)}
		resp, err := new(host).GetRequiredPackages(t.Context(), &pulumirpc.GetRequiredPackagesRequest{Info: info})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, p := range resp.GetPackages() {
			got[p.GetName()+" "+p.GetVersion()] = true
		}
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("%s needs %v, want %v", folder, names, want)
		}
	}
}

func TestUnsupportedMethods(t *testing.T) {
	h := &host{running: context.Background()}
	err := h.RunPlugin(&pulumirpc.RunPluginRequest{Info: &pulumirpc.ProgramInfo{ProgramDirectory: "/some/plugin"}}, nil)
	if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "/some/plugin") || !strings.Contains(err.Error(), "official") {
		t.Errorf("RunPlugin: %v", err)
	}
	for request, want := range map[*pulumirpc.RunRequest]string{
		{AttachDebugger: true}: "debugger",
		{}:                     "has no address of an engine",
	} {
		resp, err := h.Run(t.Context(), request)
		if err != nil || !strings.Contains(resp.GetError(), want) {
			t.Errorf("want %q, got %q, %v", want, resp.GetError(), err)
		}
	}
}

func TestEnvironmentIgnoresTheShell(t *testing.T) {
	t.Setenv("PULUMI_CONFIG", `{"app:mode":"the shell's"}`)
	t.Setenv("PULUMI_ORGANIZATION", "the shell's")
	env, err := environment(&pulumirpc.RunRequest{Project: "app", Config: map[string]string{"app:mode": "mine"}}, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		last[name] = value
	}
	for name, want := range map[string]string{
		"PULUMI_CONFIG": `{"app:mode":"mine"}`, "PULUMI_ORGANIZATION": "", "PULUMI_PROJECT": "app",
		"PULUMI_DRY_RUN": "false", "PULUMI_ENGINE": "127.0.0.1:1",
	} {
		if got, ok := last[name]; !ok || got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
