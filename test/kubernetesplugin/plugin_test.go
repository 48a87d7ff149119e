// Package kubernetesplugin_test runs the toolchain's Kubernetes plugin, with its replacement of an upstream file, against
// a real API server.
package kubernetesplugin_test

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// engine receives the plugin's messages in place of Pulumi's engine.
type engine struct {
	pulumirpc.UnimplementedEngineServer
	mu       sync.Mutex
	messages []string
}

func (e *engine) Log(_ context.Context, request *pulumirpc.LogRequest) (*emptypb.Empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.messages = append(e.messages, request.GetMessage())
	return &emptypb.Empty{}, nil
}

// said returns the plugin's messages, one per line.
func (e *engine) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.messages, "\n")
}

// plugin is a running Kubernetes plugin. It ends with its test.
type plugin struct {
	pulumirpc.ResourceProviderClient
	*engine
}

// startPlugin starts the plugin for the cluster of a kubeconfig.
func startPlugin(t *testing.T, kubeconfig string) plugin {
	t.Helper()
	said := &engine{}
	server, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{Init: func(s *grpc.Server) error {
		pulumirpc.RegisterEngineServer(s, said)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(listen(t, server.Port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := plugin{pulumirpc.NewResourceProviderClient(conn), said}
	args, err := structpb.NewStruct(map[string]any{"kubeconfig": kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Configure(t.Context(), &pulumirpc.ConfigureRequest{
		Args: args, Variables: map[string]string{"kubernetes:config:kubeconfig": kubeconfig}, //nolint:staticcheck // The pinned plugin reads the deprecated field.
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// listen starts the plugin's process for the engine at a port and returns the plugin's address.
func listen(t *testing.T, port int) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), toolchaintest.Path(t, "pulumi-resource-kubernetes"), address(port))
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "TMPDIR=" + cmd.Dir}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The test's context ends before the cleanup, and kills the process.
	t.Cleanup(func() { _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the plugin has not printed its port: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(line)
}

// remove makes the plugin delete a ConfigMap. recorded is the ConfigMap in Pulumi's state. timeout limits the plugin's
// wait, in seconds; zero means its default of ten minutes.
func (p plugin) remove(ctx context.Context, t *testing.T, recorded *corev1.ConfigMap, timeout float64) error {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(recorded)
	if err != nil {
		t.Fatal(err)
	}
	metadata := map[string]any{"name": recorded.Name, "namespace": recorded.Namespace}
	object["apiVersion"], object["kind"] = "v1", "ConfigMap"
	object["__inputs"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
	object["__initialApiVersion"] = "v1"
	properties, err := structpb.NewStruct(object)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Delete(ctx, &pulumirpc.DeleteRequest{
		Id: recorded.Namespace + "/" + recorded.Name, Properties: properties, Timeout: timeout,
		Urn: "urn:pulumi:dev::test::kubernetes:core/v1:ConfigMap::" + recorded.Name,
	})
	return err
}
