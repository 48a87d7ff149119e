// Package v1 contains the API of the Pulumi operator, group pulumi.com. A [Stack] is an
// instance of a Pulumi program, with an identity and config. A [Program] is a Pulumi program
// in YAML.
//
// The kinds accept the same objects as version 2.9 of the upstream Pulumi Kubernetes
// Operator, so that a team's manifests mean the same under either operator.
//
// +kubebuilder:object:generate=true
// +groupName=pulumi.com
package v1

//go:generate go tool -modfile=../../../tools/codegen/go.mod controller-gen object crd:generateEmbeddedObjectMeta=true paths=. output:crd:dir=../../config/crd/bases
//go:generate go run -C ../../../tools/codegen ./trim ../../operator/config/crd/bases/pulumi.com_programs.yaml ../../operator/config/crd/bases/pulumi.com_stacks.yaml
