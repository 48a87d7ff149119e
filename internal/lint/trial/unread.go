package trial

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// remembering is a file system that remembers the files that a build reads.
type remembering struct {
	filesys.FileSystem

	read map[string]bool // by absolute path, without links
}

// ReadFile implements filesys.FileSystem. kustomize reads every file by it.
func (r *remembering) ReadFile(name string) ([]byte, error) {
	content, err := r.FileSystem.ReadFile(name)
	if err == nil {
		if resolved, err := filepath.EvalSymlinks(name); err == nil {
			r.read[resolved] = true
		}
	}
	return content, err
}

// These match the fields that each object of Kubernetes has, in YAML or JSON. A file without them at the beginning of a line
// contains other data, such as the values of a chart.
var (
	versioned = regexp.MustCompile(`(?m)^["'{ ]*apiVersion["']?\s*:`)
	kinded    = regexp.MustCompile(`(?m)^["']?kind["']?\s*:|[{,]\s*["']?kind["']?\s*:`)
	// kustomizes matches files of kustomize in folders that no build uses; their objects are not objects of the cluster.
	kustomizes = regexp.MustCompile(`kustomize\.config\.k8s\.io`)
)

// unread returns the manifests in an artifact that the build has not read, as paths in the artifact, sorted. It stops at
// MostUnlisted.
func (r *remembering) unread(artifact string) ([]string, error) {
	artifact, err := filepath.EvalSymlinks(artifact)
	if err != nil {
		return nil, err
	}
	var found []string
	err = filepath.WalkDir(artifact, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if len(found) == MostUnlisted {
			return filepath.SkipAll
		}
		extension := filepath.Ext(name)
		if !entry.Type().IsRegular() || r.read[name] || extension != ".yaml" && extension != ".yml" {
			return nil
		}
		content, err := os.ReadFile(name)
		if err != nil || !versioned.Match(content) || !kinded.Match(content) || kustomizes.Match(content) {
			return err
		}
		relative, err := filepath.Rel(artifact, name)
		found = append(found, filepath.ToSlash(relative))
		return err
	})
	return found, err
}
