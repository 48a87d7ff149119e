package node

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// Image is an entry of the process catalogue: a container image whose program runs as a process of this machine.
type Image struct {
	// Repository is the image's name without a tag, for example "ghcr.io/fluxcd/source-controller".
	Repository string
	// Tag is the only tag that the catalogue has: the version of the program in the toolchain.
	Tag string
	// May says whose pods may run the program; nil means nobody's. A process has the files of the user who runs the node,
	// so nobody gets one by just naming an image. Pods of others are simulated.
	May func(namespace, serviceAccount string) bool
	// Program finds the executable; it may build it first.
	Program func(ctx context.Context) (string, error)
	// Entrypoint are arguments that stand before the container's own, like an image's entry point.
	Entrypoint []string
	// Env is the environment that the image brings, like an image's ENV. The container's own variables win.
	Env map[string]string
	// Confined says that the program sees only the files of its pod and what a system offers to everyone, and reaches only
	// the API server and what Reach names.
	Confined bool
	// Reach is what a confined program reaches beside the API server.
	Reach []Reach
	// Listen are the flags by which the program is told where to listen. In a pod of its own a program has every port
	// to itself; here each gets a free port on loopback.
	Listen []Listen
	// Commands allows probes and hooks that run a command. The command runs on this machine, not in a container: whoever may
	// write the pod may run anything.
	Commands bool
	// Override are arguments put behind the container's own, where a flag of the pod cannot work outside a container.
	Override []string
}

// Reach is something that a confined program reaches: a port of a Service of a pod that runs as a process, or an address
// of this machine.
type Reach struct {
	// Namespace, Service and Port are those of a Service.
	Namespace, Service string
	Port               int32
	// Address is a loopback address and a port; it excludes a Service.
	Address string
	// Serve serves a connection to Address; nil means that Address itself is reached.
	Serve func(ctx context.Context, conn net.Conn)
}

// Listen is a flag that takes a listen address, and the container port that stands for it in the pod.
type Listen struct {
	Flag string
	Port int32
}

// Catalogue is the set of images that run as processes. All others are simulated.
type Catalogue []Image

// find returns the catalogue's entry for a container image of a pod, or nil where the image is to be simulated. A tag
// that the catalogue does not have is an error, beside the entry: to run another version than the one asked for would be
// a lie.
func (c Catalogue) find(namespace, serviceAccount, image string) (*Image, error) {
	repository, tag := splitImage(image)
	for i := range c {
		if c[i].Repository != repository || c[i].May == nil || !c[i].May(namespace, serviceAccount) {
			continue
		}
		if c[i].Tag != tag {
			return &c[i], fmt.Errorf("image %s: this machine runs %s as a process of version %s only: use the tag %s", image, repository, c[i].Tag, c[i].Tag)
		}
		return &c[i], nil
	}
	return nil, nil
}

// splitImage parts an image reference into repository and tag; a digest is dropped.
func splitImage(image string) (repository, tag string) {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[:i], image[i+1:]
	}
	return image, "latest"
}
