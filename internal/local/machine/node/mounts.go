package node

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// serviceAccountDir is the path of a container's service account credentials (Kubernetes, "Accessing the API from a
// Pod").
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// mount maps a mount path of a container to a folder or file of this machine.
type mount struct{ path, dir string }

// mounts are the mounts of one container, longest path first: /data/cache before /data.
type mounts []mount

// mounts returns a container's mounts. env holds the variables that subPathExpr may name.
func (p *pod) mounts(c *corev1.Container, env map[string]string) mounts {
	var list mounts
	for _, m := range c.VolumeMounts {
		below := m.SubPath
		if m.SubPathExpr != "" {
			below = expand(m.SubPathExpr, env)
		}
		if at := strings.TrimRight(m.MountPath, "/"); at != "" {
			list = append(list, mount{path.Clean(at), filepath.Join(p.volumeDir(m.Name), clean(below))})
		}
	}
	slices.SortStableFunc(list, func(a, b mount) int { return len(b.path) - len(a.path) })
	return list
}

// makeFolders creates the folders of a container's sub paths in emptyDir volumes, where a program may create files.
func (p *pod) makeFolders(list mounts) error {
	for _, v := range p.current().Spec.Volumes {
		if v.EmptyDir == nil {
			continue
		}
		for _, m := range list {
			if m.dir == p.volumeDir(v.Name) || strings.HasPrefix(m.dir, p.volumeDir(v.Name)+"/") {
				if err := os.MkdirAll(m.dir, 0o700); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// at returns the folder mounted at a path of the container, or "" if there is none.
func (list mounts) at(mountPath string) string {
	for _, m := range list {
		if m.path == mountPath {
			return m.dir
		}
	}
	return ""
}

// rewrite replaces the mount paths in a text by their folders. It replaces all in one pass, because a folder of this
// machine may itself be below /tmp.
func (list mounts) rewrite(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		m, found := list.startingAt(s, i)
		if !found {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(m.dir)
		i += len(m.path)
	}
	return b.String()
}

// These characters may surround a path in an argument or a variable.
const (
	beforePath = "=:,;@\"' \t\r\n"
	afterPath  = "/:,;\"' \t\r\n"
)

func (list mounts) startingAt(s string, i int) (mount, bool) {
	if i > 0 && !strings.ContainsRune(beforePath, rune(s[i-1])) {
		return mount{}, false
	}
	for _, m := range list {
		rest, ok := strings.CutPrefix(s[i:], m.path)
		if ok && (rest == "" || strings.ContainsRune(afterPath, rune(rest[0]))) {
			return m, true
		}
	}
	return mount{}, false
}
