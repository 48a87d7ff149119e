package sandboxed

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// Google is how pods reach the emulated Google Cloud.
type Google struct {
	// URL is the emulator's URL on this machine, which credentials files contain, and PodURL the one for pods. The runtime
	// replaces URL in the variables of containers: a pod's own loopback hides this machine's.
	URL, PodURL string
	// Authority is the certificate, in PEM form, of the authority that signs the certificates of Google's emulated hosts.
	Authority []byte
}

// certificates is the folder in a container with the emulator's authority.
const certificates = "/etc/strata"

// certificateDirs is the variable with the folders of trusted authorities, for OpenSSL and Go. A list of folders replaces
// the system's folder, so it contains that one, too.
const certificateDirs = "SSL_CERT_DIR"

// variables returns the environment with the URL for pods, and with the variable for the authority unless it is set.
func (g Google) variables(env []string) []string {
	if g.URL == "" {
		return env
	}
	env = slices.Clone(env)
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], g.URL, g.PodURL)
	}
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, certificateDirs+"=") }) {
		env = append(env, certificateDirs+"=/etc/ssl/certs:"+certificates)
	}
	return env
}

// mount writes the authority into the pod's folder, and returns its mount. It returns false without an emulated Google Cloud.
func (g Google) mount(c runtime.Container) (spec.Mount, bool, error) {
	if g.URL == "" {
		return spec.Mount{}, false, nil
	}
	file := filepath.Join(c.Dir, "emulated-google-cloud.pem")
	return spec.Mount{Kind: spec.Bind, Source: file, Target: certificates + "/emulated-google-cloud.pem", ReadOnly: true}, true,
		keepPublic(file, string(g.Authority))
}
