package google

import (
	"slices"
	"strings"
)

// Access is how programs in pods reach the emulated Google Cloud. The zero value changes nothing.
type Access struct {
	// Local is the emulator's URL on this machine, which credentials files contain. A pod's own loopback hides this machine's.
	Local string
	// Authority is the certificate, in PEM form, of the authority that signs the certificates of Google's emulated hosts.
	Authority []byte
}

// AuthorityFolder is the folder in a container with the emulator's authority, and AuthorityFile the file.
const (
	AuthorityFolder = "/etc/strata"
	AuthorityFile   = "emulated-google-cloud.pem"
)

// certificateDirs is the variable with the folders of trusted authorities, for OpenSSL and Go. A list of folders replaces
// the system's folder, so it contains that one, too.
const certificateDirs = "SSL_CERT_DIR"

// Variables returns the environment of a container with the emulator's URL for pods in place of the local one, and with the
// variable for the authority unless it is set.
func (a Access) Variables(env []string) []string {
	if a.Local == "" {
		return env
	}
	env = slices.Clone(env)
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], a.Local, URL)
	}
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, certificateDirs+"=") }) {
		env = append(env, certificateDirs+"=/etc/ssl/certs:"+AuthorityFolder)
	}
	return env
}
