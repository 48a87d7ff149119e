package loadbalancer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/yaml"
)

// running is a Run with a fake API server.
type running struct {
	*fake.Clientset
	events chan string

	mu      sync.Mutex
	serving map[string]string // the Service and port by the address of the listener
}

func run(t *testing.T) *running {
	t.Helper()
	r := &running{Clientset: fake.NewClientset(), events: make(chan string, 100), serving: map[string]string{}}
	factory := informers.NewSharedInformerFactory(r, 0)
	factory.Core().V1().Services().Informer()
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			Client: r, Factory: factory, Log: slog.New(slog.DiscardHandler), Accept: r.accept,
			Listen:   func(string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
			Reserved: func() (map[string]int, error) { return map[string]int{"git": reservedPort}, nil },
			Events:   &record.FakeRecorder{Events: r.events},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		factory.Shutdown()
		if left := r.addresses(); len(left) > 0 {
			t.Errorf("the listeners %v are left", left)
		}
	})
	return r
}

// accept records a listener until it is closed.
func (r *running) accept(l net.Listener, service types.NamespacedName, port uint16) {
	address := l.Addr().String()
	r.mu.Lock()
	r.serving[address] = fmt.Sprintf("%s:%d", service, port)
	r.mu.Unlock()
	for {
		conn, err := l.Accept()
		if err != nil {
			break
		}
		conn.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.serving, address)
}

func (r *running) addresses() (found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address, to := range r.serving {
		found = append(found, address+" "+to)
	}
	slices.Sort(found)
	return found
}

func (r *running) create(t *testing.T, text string) *corev1.Service {
	t.Helper()
	s := &corev1.Service{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	made, err := r.CoreV1().Services(s.Namespace).Create(t.Context(), s, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// eventually waits until check returns "", and otherwise reports what it returned last.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		got := check()
		if got == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(got)
		}
	}
}

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestANodePortListensUntilItsServiceIsGone(t *testing.T) {
	r, number := run(t), freePort(t)
	r.create(t, fmt.Sprintf(`{metadata: {namespace: shop, name: web}, spec: {type: NodePort, ports: [{port: 80, nodePort: %d}, {port: 53, nodePort: %d, protocol: UDP}]}}`, number, number+1))
	want := fmt.Sprintf("[127.0.0.1:%d shop/web:80]", number)
	eventually(t, func() string { return differs(r, want) })
	if err := r.CoreV1().Services("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string { return differs(r, "[]") })
}

// differs says what listens if that is not want.
func differs(r *running, want string) string {
	if got := fmt.Sprint(r.addresses()); got != want {
		return fmt.Sprintf("%s listen, want %s", got, want)
	}
	return ""
}

func TestATakenNodePortIsAnEventUntilItIsFree(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	number := other.Addr().(*net.TCPAddr).Port
	r := run(t)
	r.create(t, fmt.Sprintf(`{metadata: {namespace: shop, name: web}, spec: {type: NodePort, ports: [{port: 80, nodePort: %d}]}}`, number))
	event := <-r.events
	for _, want := range []string{"Warning PortTaken", fmt.Sprintf("node port %d of this machine", number), "set another nodePort, or end the program"} {
		if !strings.Contains(event, want) {
			t.Errorf("the event is %q, want %q in it", event, want)
		}
	}
	other.Close()
	eventually(t, func() string { return differs(r, fmt.Sprintf("[127.0.0.1:%d shop/web:80]", number)) })
}

// reservedPort is a port of the home that nothing uses at the moment.
const reservedPort = 30999

func TestANodePortIsNoPortOfTheHome(t *testing.T) {
	r := run(t)
	r.create(t, fmt.Sprintf(`{metadata: {namespace: shop, name: web}, spec: {type: NodePort, ports: [{port: 80, nodePort: %d}]}}`, reservedPort))
	if event := <-r.events; !strings.Contains(event, "this home reserves the port for git") {
		t.Errorf("the event is %q", event)
	}
	if got := r.addresses(); len(got) > 0 {
		t.Errorf("%v listen", got)
	}
}

func TestALoadBalancerHasAnAddressOfItsOwn(t *testing.T) {
	r := run(t)
	create := func(name string) string {
		r.create(t, `{metadata: {namespace: shop, name: `+name+`}, spec: {type: LoadBalancer, ports: [{port: 8080}, {port: 9090}]}}`)
		var address string
		eventually(t, func() string {
			s, err := r.CoreV1().Services("shop").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || len(s.Status.LoadBalancer.Ingress) != 1 {
				return fmt.Sprintf("the status is %+v, %v", s.Status, err)
			}
			address = s.Status.LoadBalancer.Ingress[0].IP
			if want := fmt.Sprintf("%s:8080,%s:9090", address, address); address != "127.0.0.1" && s.Annotations[Annotation] != want {
				return fmt.Sprintf("the annotation is %q, want %q", s.Annotations[Annotation], want)
			}
			return ""
		})
		return address
	}
	one, two := create("one"), create("two")
	if one == two && one != "127.0.0.1" {
		t.Errorf("both load balancers have the address %s", one)
	}
	// A Service that is no load balancer any more loses its address.
	s, err := r.CoreV1().Services("shop").Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Spec.Type = corev1.ServiceTypeClusterIP
	if _, err := r.CoreV1().Services("shop").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		s, err := r.CoreV1().Services("shop").Get(t.Context(), "one", metav1.GetOptions{})
		if _, annotated := s.Annotations[Annotation]; err != nil || annotated || len(s.Status.LoadBalancer.Ingress) > 0 {
			return fmt.Sprintf("the Service has the status %+v and the annotations %v, %v", s.Status, s.Annotations, err)
		}
		return ""
	})
}

func TestALoadBalancerKeepsTheAddressInItsStatus(t *testing.T) {
	l, err := net.Listen("tcp", "127.99.98.97:0")
	if err != nil {
		t.Skipf("this system has only 127.0.0.1: %v", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	r := run(t)
	r.create(t, fmt.Sprintf(`{metadata: {namespace: shop, name: web}, spec: {type: LoadBalancer, ports: [{port: %d}]},
		status: {loadBalancer: {ingress: [{ip: 127.99.98.97}]}}}`, port))
	eventually(t, func() string { return differs(r, fmt.Sprintf("[127.99.98.97:%d shop/web:%d]", port, port)) })
	r.create(t, `{metadata: {namespace: shop, name: other}, spec: {type: LoadBalancer, loadBalancerClass: example.com/other, ports: [{port: 80}]}}`)
	r.create(t, `{metadata: {namespace: shop, name: last}, spec: {type: NodePort, ports: []}}`)
	eventually(t, func() string { return differs(r, fmt.Sprintf("[127.99.98.97:%d shop/web:%d]", port, port)) })
}
