// Package v1 contains the API of the Pulumi operator, group pulumi.com: a
// [Stack] says which program to run, as whom and with what configuration; a
// [Program] is such a program, written as YAML inside the cluster.
//
// The kinds accept what version 2.9 of the upstream Pulumi Kubernetes Operator
// accepts, so that a team's manifests mean the same under either operator.
//
// +kubebuilder:object:generate=true
// +groupName=pulumi.com
package v1

//go:generate go tool -modfile=../../../tools/codegen/go.mod controller-gen object crd:generateEmbeddedObjectMeta=true paths=. output:crd:dir=../../config/crd/bases
//go:generate go run -C ../../../tools/codegen ./trim ../../operator/config/crd/bases/pulumi.com_programs.yaml ../../operator/config/crd/bases/pulumi.com_stacks.yaml
