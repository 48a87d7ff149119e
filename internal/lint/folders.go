package lint

import (
	"io/fs"
	"path"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
)

// Folders returns, sorted, the folders whose builds can become larger than their files. The repository must have no
// problems. Folders returns all folders with a kustomization file, or none if those files only name resources. A
// patch, a replacement or a variable can grow a few bytes to any size, and only a build shows the size.
func Folders(tree fs.FS) ([]string, error) {
	c := newChecker(tree, DefaultLimits())
	var folders []string
	plain := true
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
			return err
		}
		folders = append(folders, path.Dir(name))
		content, err := c.read(name)
		plain = plain && !slices.ContainsFunc(decode(content), func(k *types.Kustomization) bool { return !namesResources(k) })
		return err
	})
	if err != nil || plain {
		return nil, err
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}

// longestNamespace is the maximum length of the name of a Kubernetes namespace.
const longestNamespace = 63

// namesResources reports whether a kustomization file only names resources and their namespace.
func namesResources(k *types.Kustomization) bool {
	rest := *k
	rest.TypeMeta, rest.MetaData, rest.Resources = types.TypeMeta{}, nil, nil
	rest.Bases = nil //nolint:staticcheck // Flux still builds what is deprecated.
	if len(rest.Namespace) <= longestNamespace {
		rest.Namespace = ""
	}
	return reflect.ValueOf(rest).IsZero()
}
