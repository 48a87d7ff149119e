// Package hardening restricts Flux's controllers for a cluster with several tenants: their arguments by kustomize patches,
// and their connections by NetworkPolicies.
package hardening

import (
	"strconv"
	"strings"
)

// Kustomization returns the kustomization.yaml beside Flux's own manifests:
// https://fluxcd.io/flux/installation/configuration/multitenancy/. Namespace is Flux's namespace, which is also the name
// of the root sync. Workers is the number of objects that each controller reconciles concurrently.
//
// Each patch names only the controllers that know the argument; a patch for a controller that is not installed matches
// nothing. source-controller has no cross-namespace references to refuse.
func Kustomization(namespace string, workers int) string {
	return strings.NewReplacer("{namespace}", namespace, "{workers}", strconv.Itoa(workers)).Replace(kustomization)
}

const kustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- gotk-components.yaml
- gotk-sync.yaml
patches:
# Refuse references to objects in other namespaces.
- target:
    kind: Deployment
    name: (kustomize-controller|helm-controller|notification-controller|image-reflector-controller|image-automation-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --no-cross-namespace-refs=true
# Refuse bases outside the source.
- target:
    kind: Deployment
    name: kustomize-controller
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --no-remote-bases=true
# Check the dependencies of a sync again after a second. The default is half a minute.
- target:
    kind: Deployment
    name: (kustomize-controller|helm-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --requeue-dependency=1s
# End the wait for the objects of an earlier commit when a new commit, a suspension or a deletion arrives. Without the gate,
# a wait for an object that no longer exists lasts until the timeout.
- target:
    kind: Deployment
    name: kustomize-controller
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --feature-gates=CancelHealthCheckOnNewRevision=true
# Apply policies before their bindings. The API server looks up the policy when it admits a binding.
- target:
    kind: Deployment
    name: kustomize-controller
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --custom-apply-stage-kinds=admissionregistration.k8s.io/ValidatingAdmissionPolicy
# Apply a sync that names no account as the default account of its namespace.
- target:
    kind: Deployment
    name: (kustomize-controller|helm-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --default-service-account=default
# Reconcile more objects concurrently, so that one team's waiting objects do not delay another team. By default
# source-controller reconciles two objects, the other controllers four.
- target:
    kind: Deployment
    name: (source-controller|kustomize-controller|helm-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --concurrent={workers}
# Delete the NetworkPolicy that allows all connections. Policies add up, so it would override the policies of each
# controller.
- target:
    kind: NetworkPolicy
    name: allow-egress
  patch: |
    $patch: delete
    apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata:
      name: allow-egress
# Apply the root sync with the controller's own permissions. No other sync has them.
- target:
    kind: Kustomization
    name: {namespace}
  patch: |
    - op: add
      path: /spec/serviceAccountName
      value: kustomize-controller
`
