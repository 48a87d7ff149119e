// Package sync contains layer 3, the YAML that Flux applies: the operator and the policies.
package sync

import "embed"

// Files are the manifests, with their paths below sync/. A test of internal/parts fails for a manifest that is missing here.
//
//go:embed clusters operator policies/*.yaml
var Files embed.FS
