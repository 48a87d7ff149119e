package unpack

import (
	"bytes"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
)

// mountFolders and mountFiles are the paths at which every container of the local target has mounts. A sandbox cannot create
// them in a read-only root file system.
var (
	mountFolders = []string{"dev", "proc", "sys", "tmp", "var/run/secrets/kubernetes.io/serviceaccount"}
	mountFiles   = []string{"etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/strata/emulated-google-cloud.pem"}
)

// AddMountPoints adds the mount points that the layers do not contain. It leaves out those whose parents are not folders. Call
// it after the last layer.
func (i *Image) AddMountPoints() {
	i.written = map[name]bool{}
	for _, path := range mountFolders {
		_, _, _ = i.walk(i.root, split(path), new(int), true)
	}
	for _, path := range mountFiles {
		parts := split(path)
		passed, _, err := i.walk(i.root, parts[:len(parts)-1], new(int), true)
		if err != nil {
			continue
		}
		folder, base := passed[len(passed)-1], parts[len(parts)-1]
		if !folder.IsDirectory() || folder.Children[base] != nil {
			continue
		}
		data, err := i.writer.Write(bytes.NewReader(nil), 0)
		if err != nil {
			continue
		}
		folder.Children[base] = &erofs.Node{Mode: erofs.Regular | 0o644, Data: data, Modified: i.root.Modified}
	}
}
