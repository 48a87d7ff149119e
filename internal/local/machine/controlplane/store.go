package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// store returns the folder of etcd's data.
func store(h home.Home) string { return filepath.Join(h.Kubernetes(), "etcd") }

// uninitialized returns the path of a file that exists until etcd has served for the first time. An etcd that is killed while
// it creates its data can leave a log without members, and then never serves again.
func uninitialized(h home.Home) string { return store(h) + ".unborn" }

// prepareStore removes data that etcd has not finished creating. Such data contains no objects yet.
func (c *ControlPlane) prepareStore() error {
	if _, err := os.Stat(uninitialized(c.home)); err != nil && Exists(c.home) {
		return nil
	}
	if err := home.WriteFile(uninitialized(c.home), nil); err != nil {
		return err
	}
	return os.RemoveAll(store(c.home))
}

// waitStore waits until etcd serves for the first time. The API server must not write to etcd before, because
// prepareStore would remove its objects after a kill.
func (c *ControlPlane) waitStore(ctx context.Context) error {
	if _, err := os.Stat(uninitialized(c.home)); err != nil {
		return nil
	}
	if err := c.wait(ctx, "etcd", "to create its data", c.storeServes); err != nil {
		return err
	}
	return home.RemoveFile(uninitialized(c.home))
}

// storeServes returns an error if etcd does not serve.
func (c *ControlPlane) storeServes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
	defer cancel()
	p := c.pki()
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile: p.cert("etcd-ca"), CertFile: p.cert("etcd-client"), KeyFile: p.key("etcd-client"),
	}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.etcd+"/health", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s", response.Status)
	}
	return nil
}
