package probe

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
)

func TestAGRPCProbeAsksTheHealthService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	state, server := health.NewServer(), grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, state)
	state.SetServingStatus("ill", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	p := Prober{Spec: &corev1.Container{Name: "a"}, Image: "probed:v1", Target: fakeTarget{server: listener.Addr().String()}}
	ill, unknown := "ill", "unknown"
	for name, test := range map[string]struct {
		action corev1.GRPCAction
		err    string // empty if the probe succeeds
	}{
		"a server that serves passes":   {corev1.GRPCAction{Port: 8080}, ""},
		"a service that is ill fails":   {corev1.GRPCAction{Port: 8080, Service: &ill}, `gRPC service "ill" is NOT_SERVING`},
		"a service that is none fails":  {corev1.GRPCAction{Port: 8080, Service: &unknown}, "unknown service"},
		"a port without a server fails": {corev1.GRPCAction{Port: 9090}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			err := p.check(t.Context(), &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &test.action}, TimeoutSeconds: 30})
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("the outcome is %v, want %q", err, test.err)
			}
		})
	}
}
