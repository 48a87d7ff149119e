package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// etcdSecret is the name of the home's secret from which the encryption key of etcd's data derives.
const etcdSecret = "etcd"

// encryptionConfig is the API server's EncryptionConfiguration, with the key in base64.
//
// It encrypts every kind, because teams also write passwords into Programs, Stacks and the variables of pods.
// Secretbox is one of the providers without a key management service. Kubernetes advises against aescbc, because its
// padding can be attacked, and demands a new key for aesgcm after every 200,000 writes ("Encrypting Confidential Data
// at Rest", Providers). The identity provider reads objects that were stored before there was a key.
const encryptionConfig = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ["*.*"]
  providers:
  - secretbox:
      keys:
      - name: home
        secret: %s
  - identity: {}
`

// encrypted returns the path of a file that exists after encryptStored has succeeded.
func encrypted(h home.Home) string { return store(h) + ".encrypted" }

// ensureEncryption writes the API server's EncryptionConfiguration and returns its path. It creates the key only once.
// A new key could not decrypt the stored objects, so a lost key is an error.
func (c *ControlPlane) ensureEncryption() (string, error) {
	key := c.home.SecretFile(etcdSecret)
	if _, err := os.Stat(key); errors.Is(err, fs.ErrNotExist) && Exists(c.home) {
		if _, err := os.Stat(encrypted(c.home)); err == nil {
			return "", fmt.Errorf("the key of etcd's data is missing: restore %s from a backup, or start over with `%s`: without the key, the data in %s is unreadable",
				key, c.home.Call("down --purge"), store(c.home))
		}
	}
	secret, err := c.home.Secret(etcdSecret)
	if err != nil {
		return "", err
	}
	// Secretbox needs 32 bytes. The secret is random and has at least 128 bits, so a plain hash suffices.
	sum := sha256.Sum256([]byte("strata etcd secretbox " + secret))
	path := filepath.Join(filepath.Dir(key), "etcd-encryption.yaml")
	return path, home.KeepFile(path, fmt.Appendf(nil, encryptionConfig, base64.StdEncoding.EncodeToString(sum[:])))
}

// secretKinds are the kinds whose objects encryptStored rewrites. The API server encrypts other objects with their
// next change.
var secretKinds = []schema.GroupVersionResource{{Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "configmaps"}}

// encryptStored encrypts, once, the objects that a control plane without a key has stored. A patch without changes
// makes the API server rewrite an object that is not stored in the current form.
func (c *ControlPlane) encryptStored(ctx context.Context) error {
	if _, err := os.Stat(encrypted(c.home)); err == nil {
		return nil
	}
	client, err := metadata.NewForConfig(c.unlimited())
	if err != nil {
		return err
	}
	for _, kind := range secretKinds {
		if err := encryptKind(ctx, client.Resource(kind)); err != nil {
			return fmt.Errorf("encrypt the stored %s: %w", kind.Resource, err)
		}
	}
	return home.WriteFile(encrypted(c.home), nil)
}

// encryptKind rewrites all objects of a kind.
func encryptKind(ctx context.Context, objects metadata.Getter) error {
	all, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, object := range all.Items {
		_, err := objects.Namespace(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s/%s: %w", object.Namespace, object.Name, err)
		}
	}
	return nil
}
