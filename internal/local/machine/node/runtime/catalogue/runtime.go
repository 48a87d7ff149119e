// Package catalogue implements the runtime of the process catalogue: a container whose image is in the catalogue runs as
// a process of this machine, with the pod's own arguments, environment, volumes and service account.
package catalogue

import (
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/service"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// Runtime is the runtime of the process catalogue. All fields are required.
type Runtime struct {
	// Catalogue holds the images that run as processes.
	Catalogue Catalogue
	// Server is the URL of the API server.
	Server string
	// Processes starts the programs and reports their states.
	Processes *process.Set
	// Services gives the programs the addresses of Services.
	Services *service.Services
}

// Name implements runtime.Runtime.
func (*Runtime) Name() string { return runtime.Process }

// Executes returns true.
func (*Runtime) Executes() bool { return true }

// Find returns the catalogue's entry for an image. It fails if the catalogue has another tag.
func (r *Runtime) Find(namespace, serviceAccount, image string) (runtime.Image, error) {
	found, err := r.Catalogue.find(namespace, serviceAccount, image)
	if found == nil || err != nil {
		return nil, err
	}
	return program{r, found}, nil
}

// Forget removes the container from the supervisor's status, which then omits containers that have ended.
func (r *Runtime) Forget(namespace, pod, container string) {
	r.Processes.Forget(component(namespace, pod, container))
}

// component returns a container's name in the supervisor's status and in `strata logs`.
func component(namespace, pod, container string) string {
	return "pods/" + strings.Join([]string{namespace, pod, container}, "_")
}

// program is an image of the catalogue.
type program struct {
	runtime *Runtime
	image   *Image
}
