package forward

import (
	"context"
	"errors"
	"fmt"
	"net"

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
	port, err := pagePort(ctx, client)
	if err != nil || port == "" {
		return nil, err
	}
	var pages []Target
	for _, namespace := range namespaces {
		services, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list the Services of namespace %s: %w", namespace, err)
		}
		for _, s := range services.Items {
			c := ofService(&s)
			if c.page == "" || c.choose(c.ports, c.page) != nil {
				continue
			}
			c.serveAt(port)
			if c.Check(ctx, client) == nil {
				pages = append(pages, c.Target)
			}
		}
	}
	return pages, nil
}

// at returns the chosen port, with its address on this machine if the Service declares this port as its page.
func (c *candidate) at(ctx context.Context, client kubernetes.Interface) (Target, error) {
	page := c.Target
	if c.page == "" || page.choose(c.ports, c.page) != nil || page.Port != c.Port {
		return c.Target, nil
	}
	port, err := pagePort(ctx, client)
	if err == nil && port != "" {
		c.serveAt(port)
	}
	return c.Target, err
}

// pagePort returns the port at which this machine serves pages. It is empty if another machine does.
func pagePort(ctx context.Context, client kubernetes.Interface) (string, error) {
	class, err := client.NetworkingV1().IngressClasses().Get(ctx, localClass, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the address of pages: %w", err)
	}
	_, port, err := net.SplitHostPort(class.Annotations[addressAnnotation])
	if err != nil {
		return "", nil // A class that somebody else made.
	}
	return port, nil
}

// serveAt sets the address of a page. The router in front of the Service speaks HTTP with browsers.
func (t *Target) serveAt(port string) { t.Scheme, t.Address = "http", net.JoinHostPort(t.host(), port) }
