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

	"github.com/strata-platform/strata/internal/local/home"
)

// etcdSecret is the name of the home's secret that the key of etcd's data derives from.
const etcdSecret = "etcd"

// encryptionConfig is an EncryptionConfiguration of the API server, with the key in base64.
//
// It covers every kind: a team writes passwords into Programs, Stacks and the variables of pods, too. Of the providers
// that need no key management service, Kubernetes advises against aescbc, whose padding can be attacked, and wants
// the key of aesgcm changed every 200,000 writes ("Encrypting Confidential Data at Rest", Providers). What was
// written before there was a key is read by identity.
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

// encrypted is a file that is there once nothing secret is stored in plain text any more.
func encrypted(h home.Home) string { return store(h) + ".encrypted" }

// ensureEncryption writes the API server's EncryptionConfiguration, and returns its path. The key is made once. Another one
// would open nothing of what is stored, so that a lost key is an error.
func (c *ControlPlane) ensureEncryption() (string, error) {
	key := c.home.SecretFile(etcdSecret)
	if _, err := os.Stat(key); errors.Is(err, fs.ErrNotExist) && Exists(c.home) {
		if _, err := os.Stat(encrypted(c.home)); err == nil {
			return "", fmt.Errorf("the key of etcd's data is missing: put a copy of %s back, or begin anew by `%s`: what is stored in %s cannot be read without it",
				key, c.home.Call("down --purge"), store(c.home))
		}
	}
	secret, err := c.home.Secret(etcdSecret)
	if err != nil {
		return "", err
	}
	// Secretbox takes 32 bytes. The secret is random, of 128 bits and more, so that a plain hash is enough.
	sum := sha256.Sum256([]byte("strata etcd secretbox " + secret))
	path := filepath.Join(filepath.Dir(key), "etcd-encryption.yaml")
	return path, home.KeepFile(path, fmt.Appendf(nil, encryptionConfig, base64.StdEncoding.EncodeToString(sum[:])))
}

// secretKinds are the kinds whose objects encryptStored writes again. Others are encrypted with their next change.
var secretKinds = []schema.GroupVersionResource{{Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "configmaps"}}

// encryptStored encrypts, once, what a control plane without a key has stored. The API server writes an object again for a
// patch that changes nothing where it is not stored as it would be now.
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
