package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// restAttacks read a copy of the home, such as a backup or a disk.
func restAttacks() []attack {
	return []attack{
		{"a Secret in the files of etcd", atRest, byNeighbour, stored, "", nil},
		{"a password of a database in the files of etcd", atRest, byNeighbour, keptSecret("sql-auth", "password"), "", nil},
		{"a team's context in the files of etcd", atRest, byNeighbour, keptSecret("strata-context", "PULUMI_CONFIG_PASSPHRASE"), "", nil},
		{"a folder of the home that others can enter", atRest, byNeighbour, private, "", nil},
	}
}

// stored creates a Secret and looks for its content.
func stored(ctx context.Context, f *field) error {
	value := "kept-" + unique()
	o := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: kept}\nstringData: {a: %s}\n", value)
	if _, err := f.web.apply(ctx, secrets, o); err != nil {
		return err
	}
	return errors.Join(f.nowhereIn(f.home.Kubernetes(), value), f.web.remove(ctx, secrets, "kept"))
}

func keptSecret(name, key string) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) error {
		secret, err := f.web.client.Resource(secrets).Namespace(f.web.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		value := decoded(secret, key)
		if value == "" {
			keys, _, _ := unstructured.NestedMap(secret.Object, "data")
			return fmt.Errorf("Secret %s has no key %s but %d others", name, key, len(keys))
		}
		return f.nowhereIn(f.home.Kubernetes(), value)
	}
}

// nowhereIn returns an error for a file below a folder that contains a text.
func (f *field) nowhereIn(dir, text string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // The file has been deleted.
		}
		content, err := os.ReadFile(path)
		if err == nil && bytes.Contains(content, []byte(text)) {
			return fmt.Errorf("%s contains it in plain text", path)
		}
		return nil
	})
}

// private returns an error if another user may enter the home or one of its top folders.
func private(_ context.Context, f *field) error {
	folders, err := filepath.Glob(filepath.Join(f.home.Dir(), "*"))
	if err != nil {
		return err
	}
	for _, path := range append(folders, f.home.Dir()) {
		info, err := os.Lstat(path)
		if err == nil && info.IsDir() && info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
	}
	return nil
}
