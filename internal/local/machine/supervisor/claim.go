package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Create starts the cluster for the emulated Kubernetes Engine. It adopts a control plane that `strata local start`
// started, unless that contains a namespace of a user.
func (c *cluster) Create(ctx context.Context, name string) (container.Access, error) {
	if err := c.start(ctx); err != nil {
		return container.Access{}, err
	}
	if err := c.claim(ctx, name); err != nil {
		return container.Access{}, err
	}
	c.mu.Lock()
	plane := c.plane
	c.mu.Unlock()
	if plane == nil {
		return container.Access{}, errors.New("the cluster was stopped meanwhile")
	}
	ca, cert, key, err := plane.Credentials()
	if err != nil {
		return container.Access{}, err
	}
	return container.Access{
		Endpoint: strings.TrimPrefix(plane.Server(), "https://"), PrivateEndpoint: controlplane.APIServer.String(),
		CA: ca, ClientCertificate: cert, ClientKey: key,
	}, nil
}

// Delete stops the cluster and erases its data. It does nothing if the control plane belongs to another cluster or to
// none.
func (c *cluster) Delete(_ context.Context, name string) error {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	owner, err := os.ReadFile(c.claimFile())
	if err == nil && string(owner) != name || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c.stopLocked()
	return errors.Join(controlplane.Erase(c.home), os.RemoveAll(c.home.Pods()))
}

// claim assigns the control plane to the cluster called name.
func (c *cluster) claim(ctx context.Context, name string) error {
	owner, err := os.ReadFile(c.claimFile())
	switch {
	case err == nil && string(owner) == name:
		return nil
	case err == nil:
		return fmt.Errorf("the control plane of this home belongs to cluster %s: delete that cluster first", owner)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	used, err := c.usedNamespace(ctx)
	if err != nil {
		return err
	}
	if used != "" {
		return fmt.Errorf("the control plane of this home contains the namespace %s, which no layer created: delete it, or use another home", used)
	}
	return home.WriteFile(c.claimFile(), []byte(name))
}

// claimFile returns the path of the file with the name of the control plane's cluster.
func (c *cluster) claimFile() string { return filepath.Join(c.home.Kubernetes(), "cluster") }

// usedNamespace returns the name of a namespace that Kubernetes did not create itself, or "".
func (c *cluster) usedNamespace(ctx context.Context) (string, error) {
	c.mu.Lock()
	plane := c.plane
	c.mu.Unlock()
	if plane == nil {
		return "", errors.New("the cluster was stopped meanwhile")
	}
	client, err := kubernetes.NewForConfig(plane.AdminConfig())
	if err != nil {
		return "", err
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, ns := range list.Items {
		if ns.Name != metav1.NamespaceDefault && !strings.HasPrefix(ns.Name, "kube-") {
			return ns.Name, nil
		}
	}
	return "", nil
}
