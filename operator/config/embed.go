// Package config contains the operator's CRDs and its deployment, generated from operator/api.
package config

import "embed"

// Files are the manifests, with their paths below operator/config/. A test of internal/parts fails for a manifest that is
// missing here.
//
//go:embed crd manager
var Files embed.FS
