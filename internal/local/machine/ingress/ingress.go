// Package ingress serves the Ingresses of the cluster on one loopback port of this machine, over HTTP and HTTPS.
package ingress

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Class is the name of the IngressClass, the cluster's default, and controllerName the name of this package in it.
const (
	Class          = "strata"
	controllerName = "strata.dev/ingress"
)

// classAnnotation is the older form of spec.ingressClassName. Google Kubernetes Engine reads only the annotation, with the
// value gce for its external load balancer, or none of both.
const (
	classAnnotation = "kubernetes.io/ingress.class"
	classOfGKE      = "gce"
)

// retryPause is the wait after a failed write of a status.
const retryPause = 5 * time.Second

// Options configures the router. All fields are required.
type Options struct {
	// Client has the rights of an administrator.
	Client kubernetes.Interface
	// Listener is the port of the home for requests.
	Listener net.Listener
	// Dial connects to a port of a Service, for a client with an address. Without an address the client is the node.
	Dial func(ctx context.Context, service types.NamespacedName, port string, from netip.Addr) (net.Conn, error)
	Log  *slog.Logger
}

// Run creates the class, and serves Ingresses until ctx ends.
func Run(ctx context.Context, o Options) error {
	if err := o.applyClass(ctx); err != nil {
		return fmt.Errorf("serve Ingresses: %w", err)
	}
	factory := informers.NewSharedInformerFactory(o.Client, 0)
	ingresses := factory.Networking().V1().Ingresses()
	// Only the Secrets with certificates.
	certificates := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) {
		l.FieldSelector = fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS)).String()
	}))
	secrets := certificates.Core().V1().Secrets()
	services := factory.Core().V1().Services()
	namespaces := factory.Core().V1().Namespaces()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	registration, err := ingresses.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		return fmt.Errorf("serve Ingresses: %w", err)
	}
	synced := []cache.InformerSynced{registration.HasSynced, secrets.Informer().HasSynced, services.Informer().HasSynced, namespaces.Informer().HasSynced}
	factory.Start(ctx.Done())
	certificates.Start(ctx.Done())
	defer factory.Shutdown()
	defer certificates.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	isNamespace := func(name string) bool {
		_, err := namespaces.Lister().Get(name)
		return err == nil
	}
	r := newRouter(o, certificateOf(secrets.Lister()), func(name types.NamespacedName) *backend { return page(services.Lister(), name) }, isNamespace)
	defer r.serve(ctx)()
	for {
		all, err := ingresses.Lister().List(labels.Everything())
		if err != nil {
			return fmt.Errorf("serve Ingresses: %w", err)
		}
		own := ownIngresses(all)
		r.table.Store(newTable(own))
		var retry <-chan time.Time
		for _, in := range own {
			if err := o.publish(ctx, in); err != nil && ctx.Err() == nil {
				o.Log.Warn("write the status of an Ingress", "ingress", in.Namespace+"/"+in.Name, "error", err)
				retry = time.After(retryPause)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-retry:
		}
	}
}

// applyClass creates the class, and writes the router's address into it.
func (o Options) applyClass(ctx context.Context) error {
	address := map[string]string{AddressAnnotation: o.Listener.Addr().String()}
	class := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: Class, Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}},
		Spec:       networkingv1.IngressClassSpec{Controller: controllerName},
	}
	maps.Copy(class.Annotations, address)
	classes := o.Client.NetworkingV1().IngressClasses()
	_, err := classes.Create(ctx, class, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// The platform team may have changed the rest.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": address}})
	if err != nil {
		return err
	}
	_, err = classes.Patch(ctx, Class, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// ownIngresses returns the Ingresses of the class, and those for Google Kubernetes Engine's load balancer.
func ownIngresses(all []*networkingv1.Ingress) (own []*networkingv1.Ingress) {
	for _, in := range all {
		class := in.Annotations[classAnnotation]
		if name := in.Spec.IngressClassName; name != nil {
			class = *name
		}
		if class == "" || class == Class || class == classOfGKE {
			own = append(own, in)
		}
	}
	return own
}

// publish writes the address and the port of the router into the status of an Ingress.
func (o Options) publish(ctx context.Context, in *networkingv1.Ingress) error {
	at := netip.MustParseAddrPort(o.Listener.Addr().String())
	want := []networkingv1.IngressLoadBalancerIngress{{
		IP: at.Addr().String(), Ports: []networkingv1.IngressPortStatus{{Port: int32(at.Port()), Protocol: corev1.ProtocolTCP}},
	}}
	if in.DeletionTimestamp != nil || reflect.DeepEqual(in.Status.LoadBalancer.Ingress, want) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": in.UID},
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": want}},
	})
	if err != nil {
		return err
	}
	_, err = o.Client.NetworkingV1().Ingresses(in.Namespace).Patch(ctx, in.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The next change tells.
	}
	return err
}

// certificateOf returns a function that reads the Secret of a certificate.
func certificateOf(lister corev1listers.SecretLister) func(types.NamespacedName) (cert, key []byte, err error) {
	return func(name types.NamespacedName) (cert, key []byte, err error) {
		secret, err := lister.Secrets(name.Namespace).Get(name.Name)
		if err != nil {
			return nil, nil, err
		}
		return secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], nil
	}
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
