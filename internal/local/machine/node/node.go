// Package node is the only node of a local cluster. Each pod's containers run in the first runtime that runs their
// images: as processes of this machine, in sandboxes, or simulated.
//
// virtual-kubelet talks to the API server about leases, the node's status and the life cycle of pod objects. This
// package is its provider: it gives each pod to package pod, and connects the packages of this folder.
package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/node/logs"
	"github.com/strata-platform/strata/internal/local/machine/node/pod"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/processes"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/sandboxed"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/simulated"
	"github.com/strata-platform/strata/internal/local/machine/node/service"
	"github.com/strata-platform/strata/internal/local/machine/node/streams"
	"github.com/strata-platform/strata/internal/local/machine/node/usage"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/storage"
)

// Options configures the node. All fields are required.
type Options struct {
	// Name is the node's name. Config authenticates as system:node:Name.
	Name   string
	Config *rest.Config
	// Version is the Kubernetes version that the node reports.
	Version string
	// Catalogue holds the images that run as processes.
	Catalogue processes.Catalogue
	// Pods is the folder of the pods' files. Logs is the folder of the logs.
	Pods, Logs string
	// Volumes is the folder of the persistent volumes.
	Volumes storage.Folder
	// Processes starts the pods' programs and reports their states.
	Processes *process.Set
	// Network connects the pods. Its state follows the cluster's objects.
	Network *network.Gateway
	// Images are the images that run in sandboxes.
	Images *images.Images
	// Google is how pods reach the emulated Google Cloud. It is optional.
	Google google.Access
	// Runsc returns the path of gVisor's runsc, and builds it first if necessary.
	Runsc func(ctx context.Context) (string, error)
	// Listen listens on the reserved loopback port of a name.
	Listen func(name string) (net.Listener, error)
	// TLS configures the server of the node's API. It must accept only the API server as a client.
	TLS *tls.Config
	Log *slog.Logger
}

// Node is a running node.
type Node struct {
	client   kubernetes.Interface
	host     pod.Host
	services *service.Services
	streams  *streams.Server
	// lister lists the pods bound to this node.
	lister corev1listers.PodLister
	log    *slog.Logger

	// closing is true while the node stops all pods.
	closing atomic.Bool

	mu      sync.Mutex
	running map[string]*hosted // by podKey
	// notify reports a pod's new status to virtual-kubelet.
	notify func(*corev1.Pod)
}

// These limits bound the node's requests to the API server: per second, and in a burst.
const (
	clientQPS   = 50
	clientBurst = 100
)

// leaseSeconds is how many seconds the node may be silent before the control plane declares it lost.
const leaseSeconds = 40

// Run runs the node until ctx is done, then stops its pods and returns. Run calls ready with the node when the node
// accepts pods.
func Run(ctx context.Context, o Options, ready func(*Node)) error {
	config := rest.CopyConfig(o.Config)
	// The kubelet has these limits. client-go's defaults suit one small controller.
	config.QPS, config.Burst = clientQPS, clientBurst
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("run the node: %w", err)
	}
	listener, err := o.Listen(PortName)
	if err != nil {
		return fmt.Errorf("run the node: %w", err)
	}
	defer listener.Close()
	asked := ctx // tells a requested end from a failure of a controller
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) {
		l.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", o.Name).String()
	}))
	shared := informers.NewSharedInformerFactory(client, 0)
	// virtual-kubelet demands these informers but uses them only to resolve variables, which this package does itself.
	// Nothing starts the informers: the node may read only the Secrets of its own pods, one by one.
	unused := informers.NewSharedInformerFactory(client, 0)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	defer broadcaster.Shutdown()

	sandboxes, err := sandboxed.New(ctx, sandboxed.Options{
		Images: o.Images, Network: o.Network, Runsc: o.Runsc, Google: o.Google, Output: os.Stderr, Log: o.Log,
	})
	if err != nil {
		return fmt.Errorf("run the node: %w", err)
	}
	defer sandboxes.Close()
	n := newNode(client, o, sandboxes, shared.Core().V1().Services().Lister(), pods.Core().V1().Pods().Lister(),
		broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "strata-node", Host: o.Name}))
	defer n.services.Close()
	podController, err := vknode.NewPodController(vknode.PodControllerConfig{
		PodClient:                 podClient{client.CoreV1(), n},
		PodInformer:               pods.Core().V1().Pods(),
		EventRecorder:             quiet{n.host.Events},
		Provider:                  (*provider)(n),
		ConfigMapInformer:         unused.Core().V1().ConfigMaps(),
		SecretInformer:            unused.Core().V1().Secrets(),
		ServiceInformer:           unused.Core().V1().Services(),
		SkipDownwardAPIResolution: true,
	})
	if err != nil {
		return fmt.Errorf("run the node: %w", err)
	}
	nodeController, err := vknode.NewNodeController(vknode.NewNaiveNodeProvider(), nodeObject(o, listener.Addr().(*net.TCPAddr).Port), client.CoreV1().Nodes(),
		vknode.WithNodeEnableLeaseV1(client.CoordinationV1().Leases(corev1.NamespaceNodeLease), leaseSeconds))
	if err != nil {
		return fmt.Errorf("run the node: %w", err)
	}
	pods.Start(ctx.Done())
	shared.Start(ctx.Done())
	pods.WaitForCacheSync(ctx.Done())
	shared.WaitForCacheSync(ctx.Done())
	if ctx.Err() == nil {
		if err := n.host.Logs.Prune(func(namespace, pod string) bool { return n.object(namespace, pod) != nil }); err != nil {
			return fmt.Errorf("run the node: %w", err)
		}
	}
	defer n.serve(listener, o.TLS)()
	if err := os.MkdirAll(o.Pods, 0o700); err != nil {
		return fmt.Errorf("run the node: %w", err)
	}
	go usage.Watch(ctx, usage.Options{Pods: n.watched, Dir: o.Pods, Reserve: usage.Reserve, Pod: usage.Pod, Files: usage.Files, Log: o.Log})
	go func() { _ = podController.Run(ctx, podWorkers) }()
	go func() { _ = nodeController.Run(ctx) }()
	select {
	case <-nodeController.Ready():
		ready(n)
	case <-nodeController.Done():
	}
	// The node ends with either controller: without the other one it would appear ready and run no pods, or run pods and
	// appear lost.
	select {
	case <-nodeController.Done():
	case <-podController.Done():
	}
	cancel()
	<-podController.Done()
	n.stopAll()
	if asked.Err() != nil {
		return nil
	}
	return fmt.Errorf("run the node: it ended by itself: %w", errors.Join(nodeController.Err(), podController.Err()))
}

// newNode returns a node that does not register yet.
func newNode(client kubernetes.Interface, o Options, sandboxes runtime.Runtime, serviceLister corev1listers.ServiceLister, podLister corev1listers.PodLister, events record.EventRecorder) *Node {
	n := &Node{client: client, lister: podLister, log: o.Log, running: map[string]*hosted{}, notify: func(*corev1.Pod) {}}
	n.streams = streams.New(n.streamed)
	n.services = service.New(service.Options{Lister: serviceLister, Listen: o.Listen, Pods: n.podsIn, Log: o.Log})
	n.host = pod.Host{
		Client:   client,
		IP:       o.Network.Address(),
		DialAs:   o.Network.DialAs,
		Services: func() ([]*corev1.Service, error) { return serviceLister.List(labels.Everything()) },
		// A pod's annotation names the first of these runtimes that runs one of its containers.
		Runtimes: runtime.List{
			&processes.Runtime{Catalogue: o.Catalogue, Server: o.Config.Host, Processes: o.Processes, Services: n.services, Network: o.Network},
			sandboxes,
			simulated.Runtime{},
		},
		Dir: o.Pods, Volumes: o.Volumes, Logs: logs.Folder(filepath.Join(o.Logs, "pods")), Clock: clock.RealClock{}, Events: events,
		Notify:  func(p *corev1.Pod) { n.notify(p) },
		Closing: n.closing.Load,
	}
	return n
}

// podWorkers is the number of pods that the node starts or stops concurrently.
const podWorkers = 10
