package lint

import (
	"io/fs"
	"path"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
)

// Folders returns the folders of a repository without problems whose builds make more than the files say, sorted: all with
// a kustomization file, and none where those only name resources. A patch, a replacement or a variable can grow a few bytes
// to any size; how far, only a build tells.
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

// longestNamespace is the length of a Kubernetes namespace's name.
const longestNamespace = 63

// namesResources tells whether a kustomization file does nothing but name resources and their namespace.
func namesResources(k *types.Kustomization) bool {
	rest := *k
	rest.TypeMeta, rest.MetaData, rest.Resources = types.TypeMeta{}, nil, nil
	rest.Bases = nil //nolint:staticcheck // Flux still builds what is deprecated.
	if len(rest.Namespace) <= longestNamespace {
		rest.Namespace = ""
	}
	return reflect.ValueOf(rest).IsZero()
}
