package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/internal/terminal"
)

// longestReason is the maximum length of the reason of a simulated pod in characters.
const longestReason = 300

// errSimulated is the error of a target whose pod is simulated.
var errSimulated = errors.New("its pod is simulated, so nothing answers")

// Check fails if no ready pod is behind the target now, or if the pod is simulated. The error of a simulated pod gives the reason.
func (t Target) Check(ctx context.Context, client kubernetes.Interface) error {
	name, _, err := t.endpoint(ctx, client)
	if err != nil {
		return err
	}
	pod, err := client.CoreV1().Pods(t.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the pod of %s: %w", t, err)
	}
	if pod.Annotations[snapshot.AnnotationRuntime] != snapshot.RuntimeSimulated {
		return nil
	}
	// A team may write the annotation.
	return fmt.Errorf("open %s: %w: %s", t, errSimulated, terminal.Line(pod.Annotations[snapshot.AnnotationRuntimeReason], longestReason))
}

// PageAnnotation of a Service is the name or number of a port with pages for people.
const PageAnnotation = "strata.dev/page"

// The annotation of an IngressClass with the HOST:PORT at which this machine serves pages, and the class on the local target.
const addressAnnotation, localClass = "strata.dev/address", "strata"

// Pages returns the Services in some namespaces that declare a page, have a ready pod that is not simulated, and are served by this
// machine.
func Pages(ctx context.Context, client kubernetes.Interface, namespaces []string) ([]Target, error) {
	var pages []Target
	for _, namespace := range namespaces {
		services, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list the Services of namespace %s: %w", namespace, err)
		}
		for _, s := range services.Items {
			t, err := Page(ctx, client, namespace, s.Name)
			if err != nil {
				return nil, err
			}
			if t.Address != "" && t.Check(ctx, client) == nil {
				pages = append(pages, t)
			}
		}
	}
	return pages, nil
}

// Page returns the port of a Service that it declares as its page, with its address on this machine. The target has no address if
// the Service has no such port, or another machine serves it.
func Page(ctx context.Context, client kubernetes.Interface, namespace, name string) (Target, error) {
	t := Target{Kind: KindService, Namespace: namespace, Name: name}
	service, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("find %s: %w", t, err)
	}
	wanted := service.Annotations[PageAnnotation]
	ports := slices.DeleteFunc(slices.Clone(service.Spec.Ports), func(p corev1.ServicePort) bool { return !isTCP(p.Protocol) })
	if wanted == "" || t.choose(ports, wanted) != nil {
		return t, nil
	}
	class, err := client.NetworkingV1().IngressClasses().Get(ctx, localClass, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("find the address of %s: %w", t, err)
	}
	if _, port, err := net.SplitHostPort(class.Annotations[addressAnnotation]); err == nil {
		// The router in front of the Service speaks HTTP with browsers.
		t.Scheme, t.Address = "http", net.JoinHostPort(t.host(), port)
	}
	return t, nil
}
