package fluxcd

import "strconv"

// lockdown returns the kustomization.yaml beside Flux's own manifests:
// https://fluxcd.io/flux/installation/configuration/multitenancy/. It adds each argument only to the controllers that
// know it; a patch for a controller that is not installed matches nothing. source-controller has no cross-namespace
// references to refuse. Workers is the number of objects that each controller reconciles concurrently.
func lockdown(workers int) string {
	return lockdownBefore + strconv.Itoa(workers) + lockdownAfter
}

const lockdownBefore = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- gotk-components.yaml
- gotk-sync.yaml
patches:
# No object refers to one in another namespace.
- target:
    kind: Deployment
    name: (kustomize-controller|helm-controller|notification-controller|image-reflector-controller|image-automation-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --no-cross-namespace-refs=true
# No kustomization fetches bases from elsewhere.
- target:
    kind: Deployment
    name: kustomize-controller
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --no-remote-bases=true
# What depends on another sync looks again after a second: by default it would wait for half a minute.
- target:
    kind: Deployment
    name: (kustomize-controller|helm-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --requeue-dependency=1s
# A new commit, a suspension or a deletion ends the wait for what a sync applied before: otherwise it would last for the
# whole timeout where an object that is waited for has gone.
- target:
    kind: Deployment
    name: kustomize-controller
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --feature-gates=CancelHealthCheckOnNewRevision=true
# The API server asks what a binding's policy may read, so that a policy has to be there before its binding is tried.
- target:
    kind: Deployment
    name: kustomize-controller
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --custom-apply-stage-kinds=admissionregistration.k8s.io/ValidatingAdmissionPolicy
# Whoever names no account has the rights of the namespace's default one.
- target:
    kind: Deployment
    name: (kustomize-controller|helm-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --default-service-account=default
# What one team's objects wait for holds up no other's: by default source-controller works on two objects at a time, and the
# others on four.
- target:
    kind: Deployment
    name: (source-controller|kustomize-controller|helm-controller)
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --concurrent=`

const lockdownAfter = `
# Each controller reaches what it needs, by policies of their own: policies add up, and this one allows everything.
- target:
    kind: NetworkPolicy
    name: allow-egress
  patch: |
    $patch: delete
    apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata:
      name: allow-egress
# The root sync alone keeps the controller's own rights.
- target:
    kind: Kustomization
    name: ` + Namespace + `
  patch: |
    - op: add
      path: /spec/serviceAccountName
      value: kustomize-controller
`
