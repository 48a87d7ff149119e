// Package loadbalancer serves the node ports and the load balancers of Services on loopback addresses of this machine, and
// writes the addresses of load balancers into the status, as the controller of a cloud does.
package loadbalancer

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// Class is the load balancer class of this package. Services without a class use it, too.
const Class = "strata.dev/loopback"

// Annotation lists the addresses, HOST:PORT, at which this machine serves the ports of a Service of type LoadBalancer, in the
// order of its ports, separated by commas. A port differs from the Service's own where the user may not listen on that.
const Annotation = "strata.dev/load-balancer"

// retryEvery is the interval of attempts to listen on a port that another program uses.
const retryEvery = 5 * time.Second

// Options configures the listeners. All fields are required.
type Options struct {
	Client kubernetes.Interface
	// Factory has the informer of Services. The caller starts it.
	Factory informers.SharedInformerFactory
	// Accept relays the connections of a listener to a Service until the listener is closed.
	Accept func(l net.Listener, service types.NamespacedName, port uint16)
	// Listen listens on the reserved loopback port of a name, for systems whose only loopback address is 127.0.0.1.
	Listen func(name string) (net.Listener, error)
	// Reserved returns the reserved loopback ports of the home, by name. No Service gets them, not even while their owner
	// is stopped: a team that sets a node port would receive what is meant for the platform.
	Reserved func() (map[string]int, error)
	Events   record.EventRecorder
	Log      *slog.Logger
}

// controller holds the listeners of all Services.
type controller struct {
	Options
	nodePorts map[nodePort]net.Listener
	balancers map[types.NamespacedName]*balancer
	// told is the last error of each Service, about which there is an event.
	told    map[types.NamespacedName]string
	serving sync.WaitGroup
}

// Run follows the Services until ctx ends. Then it closes all listeners. The statuses keep their addresses, which the next
// Run uses again.
func Run(ctx context.Context, o Options) error {
	c := &controller{Options: o, nodePorts: map[nodePort]net.Listener{}, balancers: map[types.NamespacedName]*balancer{}, told: map[types.NamespacedName]string{}}
	defer c.close()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	informer := o.Factory.Core().V1().Services()
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil
	}
	for {
		services, err := informer.Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		var retry <-chan time.Time
		if !c.serve(ctx, services) {
			retry = time.After(retryEvery)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-retry:
		}
	}
}

// close closes all listeners and waits for their connections' ends.
func (c *controller) close() {
	for _, l := range c.nodePorts {
		l.Close()
	}
	for _, b := range c.balancers {
		b.close()
	}
	c.serving.Wait()
}

// serve makes the listeners match the Services. It returns false if a later attempt may do better.
func (c *controller) serve(ctx context.Context, services []*corev1.Service) bool {
	// The oldest Service keeps a port or an address that two want.
	services = slices.Clone(services)
	slices.SortStableFunc(services, func(a, b *corev1.Service) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	c.release(services)
	done := true
	for _, s := range services {
		var errs []error
		errs = append(errs, c.serveNodePorts(s)...)
		if balanced(s) {
			errs = append(errs, c.serveBalancer(s))
		}
		if err := errors.Join(errs...); err != nil {
			done = false
			c.tell(s, err)
		} else {
			delete(c.told, nameOf(s))
		}
		if err := c.publish(ctx, s); err != nil && ctx.Err() == nil {
			done = false
			c.Log.Warn("write the status of a Service", "service", nameOf(s).String(), "error", err)
		}
	}
	return done
}

// tell sends an event about a Service, unless it has told the same before.
func (c *controller) tell(s *corev1.Service, err error) {
	if c.told[nameOf(s)] == err.Error() {
		return
	}
	c.told[nameOf(s)] = err.Error()
	c.Events.Eventf(s, corev1.EventTypeWarning, "PortTaken", "%v", err)
	c.Log.Warn("listen for a Service", "service", nameOf(s).String(), "error", err)
}

// accept relays the connections of a listener.
func (c *controller) accept(l net.Listener, service types.NamespacedName, port uint16) {
	c.serving.Go(func() { c.Accept(l, service, port) })
}

// release closes the listeners that no Service wants any more, so that another Service can have their ports.
func (c *controller) release(services []*corev1.Service) {
	wanted, balancers := map[nodePort]bool{}, map[types.NamespacedName]string{}
	for _, s := range services {
		for _, p := range nodePorts(s) {
			wanted[p] = true
		}
		if balanced(s) {
			balancers[nameOf(s)] = describe(s)
		}
	}
	for p, l := range c.nodePorts {
		if !wanted[p] {
			l.Close()
			delete(c.nodePorts, p)
		}
	}
	for name, b := range c.balancers {
		if balancers[name] != b.ports {
			b.close()
			delete(c.balancers, name)
		}
	}
}

// balanced reports whether this package serves a Service's load balancer.
func balanced(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil &&
		(s.Spec.LoadBalancerClass == nil || *s.Spec.LoadBalancerClass == Class)
}

func nameOf(s *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}
