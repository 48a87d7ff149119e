package processes

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// Image is an entry of the process catalogue: a container image whose program runs as a process on this machine.
type Image struct {
	// Repository is the image's name without a tag, for example "ghcr.io/fluxcd/source-controller".
	Repository string
	// Tag is the only tag in the catalogue: the version of the program in the toolchain.
	Tag string
	// May reports whether the pods of a service account may run the program. Nil means that none may. A process can
	// read the files of the user who runs the node, so naming the image is not enough. The node simulates all other
	// pods.
	May func(namespace, serviceAccount string) bool
	// Program returns the path of the executable. It may build the executable first.
	Program func(ctx context.Context) (string, error)
	// Entrypoint holds the arguments before the container's own, like an image's ENTRYPOINT.
	Entrypoint []string
	// Env is the environment of the image, like an image's ENV. The container's own variables override it.
	Env map[string]string
	// Confined limits the program to the files of its pod, the files that every process may use, the API server and
	// the targets in Reach.
	Confined bool
	// Reach lists the targets of a confined program besides the API server.
	Reach []Reach
	// Listen lists the program's flags for listen addresses. In a pod, a program has all ports to itself. Here, the
	// node gives each flag a free port on loopback.
	Listen []Listen
	// Commands allows probes and hooks that run a command. The command runs on this machine and not in a container, so
	// whoever may write the pod may run anything.
	Commands bool
	// Override holds arguments after the container's own. They replace flags of the pod that cannot work outside a
	// container.
	Override []string
}

// Reach is a target of a confined program: a port of a Service whose pods run as processes, or an address on this
// machine.
type Reach struct {
	// Namespace, Service and Port identify a port of a Service.
	Namespace, Service string
	Port               int32
	// Address is a loopback address with a port. It excludes a Service.
	Address string
	// Serve serves the program's connections to Address. If it is nil, the program connects to Address itself.
	Serve func(ctx context.Context, conn net.Conn)
}

// Listen is a flag for a listen address, and the container port that it replaces.
type Listen struct {
	Flag string
	Port int32
}

// Catalogue is the set of images that run as processes. The node simulates all other images.
type Catalogue []Image

// find returns the catalogue's entry for a container image of a pod, or nil if the node simulates the image. If the
// catalogue lacks the tag, find returns an error besides the entry, because the node must not run another version than
// the pod asks for.
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

// splitImage splits an image reference into repository and tag. It drops a digest.
func splitImage(image string) (repository, tag string) {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[:i], image[i+1:]
	}
	return image, "latest"
}
