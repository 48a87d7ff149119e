package inspect

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status/snapshot"
)

const (
	stackOf = `{"apiVersion": "pulumi.com/v1", "kind": "Stack", "metadata": {"namespace": "team-web", "name": "NAME"}, "spec": SPEC}`
	podOf   = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team-web", "name": "waits"}, "spec": SPEC, "status": {"phase": "Pending"}}`
)

func stackNamed(name, spec string) change {
	return has(strings.NewReplacer("NAME", name, "SPEC", spec).Replace(stackOf))
}

func podWith(spec string) change { return has(strings.Replace(podOf, "SPEC", spec, 1)) }

// causeCase is a healthy platform with changes, and the expected status.
type causeCase struct {
	changes  []change
	warnings map[string]string
	want     string
	// explains are items that the cause must explain.
	explains []string
}

func (tc causeCase) check(t *testing.T) {
	t.Helper()
	report := reportOf(t, tc.warnings, tc.changes...)
	cause, found := report.RootCause()
	if report.Ready || !found {
		t.Fatal("the report is ready")
	}
	if got := cause.Cause(); got != tc.want {
		t.Errorf("the root cause is\n%s\nwant\n%s", got, tc.want)
	}
	for _, want := range tc.explains {
		explained := false
		for _, i := range report.Causes[0].Explains {
			explained = explained || report.Items[i].Ref() == want
		}
		if !explained {
			t.Errorf("%s is missing from the consequences", want)
		}
	}
}

func TestRootCauseOf(t *testing.T) {
	const stack = "wordpress-infra"
	noContext := says("Stack", "team-web", stack, "Ready", "False", "NotReadyInProgress",
		"spec.envRefs.GOOGLE_CREDENTIALS: there is no Secret team-web/strata-context: create it")
	cannotPatch := `Deployment/team-web/wordpress dry-run failed (Forbidden): deployments.apps "wordpress" is forbidden: ` +
		`User "system:serviceaccount:team-web:web" cannot patch resource "deployments" in API group "apps" in the namespace "team-web"`
	for name, tc := range map[string]causeCase{
		"a missing context is layer 2's": {
			changes:  []change{gone("Secret", "team-web", "strata-context"), noContext},
			want:     "Secret team-web/strata-context (layer platform): Missing: layer 2 creates it, and it does not exist: the platform team: run `strata up`",
			explains: []string{"Stack team-web/wordpress-infra"},
		},
		"a context without a key is layer 2's": {
			changes: []change{says("Stack", "team-web", stack, "Ready", "False", "NotReadyInProgress",
				`spec.envRefs.GOOGLE_PROJECT: Secret team-web/strata-context has no key "GOOGLE_PROJECT": add it`)},
			want: "Secret team-web/strata-context (layer platform): Incomplete: it has no key GOOGLE_PROJECT, which layer 2 creates: the platform team: run `strata up`",
		},
		"a missing namespace explains its missing objects": {
			changes:  []change{gone("Namespace", "", "team-web"), gone("Secret", "team-web", "strata-context"), gone("Kustomization", "team-web", "web")},
			want:     "Namespace team-web (layer platform): Missing: layer 2 creates it, and it does not exist: the platform team: run `strata up`",
			explains: []string{"Secret team-web/strata-context", "Kustomization team-web/web"},
		},
		"an account without its rights": {
			changes:  []change{gone("RoleBinding", "team-web", "strata-team"), failed("ReconciliationFailed", cannotPatch)},
			want:     "RoleBinding team-web/strata-team (layer platform): Missing: layer 2 creates it, and it does not exist: the platform team: run `strata up`",
			explains: []string{"Kustomization team-web/web"},
		},
		"a missing role": {
			changes: []change{gone("ClusterRole", "", "strata:team"), failed("ReconciliationFailed", cannotPatch)},
			want:    "ClusterRole strata:team (layer platform): Missing: layer 2 creates it, and it does not exist: the platform team: run `strata up`",
		},
		"an account that never had the right": {
			changes: []change{failed("ReconciliationFailed", `Role/team-web/x dry-run failed (Forbidden): roles.rbac.authorization.k8s.io "x" is forbidden: `+
				`User "system:serviceaccount:team-web:web" cannot patch resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "team-web"`)},
			want: "Kustomization team-web/web: ReconciliationFailed: Role team-web/x is refused: the account team-web/web may not patch roles (at main@ffff0000; main@46d43c2f keeps running): team web: remove it and push",
		},
		"an admission policy": {
			changes: []change{failed("ReconciliationFailed", `Program/team-web/x dry-run failed (Invalid): programs.pulumi.com "x" is forbidden: ValidatingAdmissionPolicy `+
				`'strata-programs' with binding 'strata-programs-update' denied request: resource "vm" is of type gcp:compute:Instance. Programs of team web may declare random:*; for others ask the platform team`)},
			want: `Kustomization team-web/web: ReconciliationFailed: admission policy strata-programs rejects Program team-web/x: resource "vm" is of type gcp:compute:Instance. ` +
				"Programs of team web may declare random:*; for others ask the platform team (at main@ffff0000; main@46d43c2f keeps running): team web: correct it and push",
		},
		"a field that the kind does not have": {
			changes: []change{failed("ReconciliationFailed", `Stack/team-web/x dry-run failed: failed to create typed patch object (team-web/x; pulumi.com/v1, Kind=Stack): .spec.stak: field not declared in schema`)},
			want:    "Kustomization team-web/web: ReconciliationFailed: Stack team-web/x: its kind has no field spec.stak (at main@ffff0000; main@46d43c2f keeps running): team web: correct the field and push",
		},
		"an unknown kind": {
			changes: []change{failed("ReconciliationFailed", "Stak/team-web/x dry-run failed: no matches for kind \"Stak\" in version \"pulumi.com/v1\"\n")},
			want:    "Kustomization team-web/web: ReconciliationFailed: Stak team-web/x: the cluster knows no kind Stak of pulumi.com/v1 (at main@ffff0000; main@46d43c2f keeps running): team web: correct kind and apiVersion and push",
		},
		"a kind that comes with layer 3": {
			changes: []change{
				failed("ReconciliationFailed", `Stack/team-web/x dry-run failed: no matches for kind "Stack" in version "pulumi.com/v1"`),
				says("Kustomization", "platform", "operator-crds", "Ready", "False", "BuildFailed", "kustomization path not found: stat /data/kustomization-123/operator: no such file or directory"),
			},
			want: "Kustomization platform/operator-crds (layer sync): BuildFailed: the repository has no folder operator: the platform team: correct it and push",
		},
		"invalid YAML": {
			changes: []change{failed("BuildFailed", `kustomize build failed: accumulating resources: accumulating resources from 'app-infra.yaml': MalformedYAMLError: yaml: line 23: could not find expected ':' in File: app-infra.yaml`)},
			want: "Kustomization team-web/web: BuildFailed: app-infra.yaml is not valid YAML: could not find expected ':' (near line 23 of one of its documents) " +
				"(at main@ffff0000; main@46d43c2f keeps running): team web: correct it and push",
		},
		"a missing file": {
			changes: []change{failed("BuildFailed", `kustomize build failed: accumulating resources: accumulation err='accumulating resources from 'wordpres.yaml': open /data/temp/kustomization-2114965607/wordpres.yaml: `+
				`no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '/data/temp/kustomization-2114965607/wordpres.yaml' : lstat /data/temp/kustomization-2114965607/wordpres.yaml: no such file or directory`)},
			want: "Kustomization team-web/web: BuildFailed: kustomization.yaml lists wordpres.yaml, which does not exist (at main@ffff0000; main@46d43c2f keeps running): team web: correct it and push",
		},
		"the latest warning between two retries": {
			changes: []change{
				failed("Progressing", "Reconciliation in progress"),
				says("Kustomization", "team-web", "web", "Reconciling", "True", "ProgressingWithRetry", "Building manifests"),
			},
			warnings: map[string]string{"Kustomization team-web/web": "ReconciliationFailed: " + cannotPatch},
			want:     "Kustomization team-web/web: ReconciliationFailed: Deployment team-web/wordpress is refused: the account team-web/web may not patch deployments (at main@ffff0000; main@46d43c2f keeps running): team web: remove it and push",
		},
		"a source without its login": {
			changes: []change{
				gone("Secret", "team-web", "web"),
				says("GitRepository", "team-web", "web", "Ready", "False", "AuthenticationFailed", `failed to get secret 'team-web/web': secrets "web" not found`),
				says("Kustomization", "team-web", "web", "Ready", "False", "ArtifactFailed", "Source artifact not found, retrying in 2s"),
			},
			want:     "Secret team-web/web (layer platform): Missing: layer 2 creates it, and it does not exist: the platform team: run `strata up`",
			explains: []string{"GitRepository team-web/web", "Kustomization team-web/web"},
		},
		"a source that does not answer": {
			changes: []change{
				says("GitRepository", "team-web", "web", "Ready", "False", "GitOperationFailed", "failed to checkout: connection refused"),
				says("Kustomization", "team-web", "web", "Ready", "False", "ArtifactFailed", "Source artifact not found, retrying in 2s"),
			},
			want:     "GitRepository team-web/web: GitOperationFailed: failed to checkout: connection refused: team web: check http://127.0.0.1:23448/web.git and the login in Secret web",
			explains: []string{"Kustomization team-web/web"},
		},
		"a public source that does not answer": {
			changes: []change{
				has(`{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"namespace": "team-web", "name": "public"}, "spec": {"url": "oci://ghcr.io/a/b"}}`),
				says("OCIRepository", "team-web", "public", "Ready", "False", "OCIArtifactPullFailed", "not found"),
			},
			want: "OCIRepository team-web/public: OCIArtifactPullFailed: not found: team web: check oci://ghcr.io/a/b, or add spec.secretRef if the source needs a login",
		},
		"a registry without artifacts": {
			changes: []change{
				has(`{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"namespace": "team-web", "name": "web"}, "spec": {"url": "oci://127.0.0.1:30877/team-web/deploy", "ref": {"semver": ">=0.0.0"}}}`),
				says("OCIRepository", "team-web", "web", "Ready", "False", "ReadOperationFailed", "failed to determine the artifact tag for 'oci://127.0.0.1:30877/team-web/deploy': no match found for semver: >=0.0.0"),
			},
			want: "OCIRepository team-web/web: NothingPublished: the registry contains no version in the range >=0.0.0: team web: publish an artifact: run `strata publish --team web` in the folder with the manifests",
		},
		"an artifact that is not signed": {
			changes: []change{
				has(`{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"namespace": "team-web", "name": "web"}, "spec": {"url": "oci://127.0.0.1:30877/team-web/deploy", "ref": {"semver": ">=0.0.0"}}}`),
				says("OCIRepository", "team-web", "web", "Ready", "False", "VerificationError", "failed to verify the signature using provider 'cosign': no matching signatures were found for '127.0.0.1:30877/team-web/deploy@sha256:aaaa'"),
			},
			want: "OCIRepository team-web/web: VerificationError: failed to verify the signature using provider 'cosign': no matching signatures were found for '127.0.0.1:30877/team-web/deploy@sha256:aaaa': team web: find out who has pushed it, delete the tag in the registry, or publish a higher version with `strata publish`",
		},
		"a repository without tags": {
			changes: []change{
				set("GitRepository", "team-web", "web", map[string]any{"semver": "1.x"}, "spec", "ref"), set("GitRepository", "team-web", "web", nil, "status", "artifact"),
				says("GitRepository", "team-web", "web", "Ready", "False", "GitOperationFailed", "failed to checkout and determine revision: no match found for semver: 1.x"),
			},
			want: "GitRepository team-web/web: NothingPublished: the repository contains no tag in the range 1.x: team web: tag a commit with such a version, and push the tag",
		},
		"a tag without a signature": {
			changes: []change{
				set("GitRepository", "team-web", "web", "v1.0.0@sha1:cfbe5ea597cecfbe5ea5", "status", "artifact", "revision"),
				says("GitRepository", "team-web", "web", "SourceVerified", "False", "InvalidGitObject", "cannot verify signature of tag 'v1.1.0' since it is not signed"),
			},
			want: "GitRepository team-web/web: NotSigned: tag v1.1.0 has no signature; v1.0.0@cfbe5ea5 keeps running: team web: sign it with the key of a publisher, and push it again",
		},
		"a commit without a signature": {
			changes: []change{
				set("GitRepository", "team-web", "web", nil, "status", "artifact"),
				says("GitRepository", "team-web", "web", "SourceVerified", "False", "InvalidCommitSignature", "signature verification of commit 'cfbe5ea597cecfbe5ea5' failed: unsupported signature type: empty"),
			},
			want: "GitRepository team-web/web: NotSigned: commit cfbe5ea5 has no signature: team web: sign it with the key of a publisher, and push it again",
		},
		"a tag that is older than the one that runs": {
			changes: []change{
				set("GitRepository", "team-web", "web", map[string]any{"semver": "1.x"}, "spec", "ref"),
				set("GitRepository", "team-web", "web", "v1.1.0@sha1:cfbe5ea597cecfbe5ea5", "status", "artifact", "revision"),
				says("GitRepository", "team-web", "web", "ArtifactInStorage", "True", "Succeeded", "stored artifact for revision 'v1.0.0@sha1:b0aae64d6c86b0aae64d'"),
			},
			want: "GitRepository team-web/web: RolledBack: the repository offers v1.0.0@b0aae64d, which was not signed as a later version than v1.1.0@cfbe5ea5; v1.1.0@cfbe5ea5 keeps running: team web: find out who has pushed it, and delete the tag, or push a higher one",
		},
		"an artifact that is older than the one that runs": {
			changes: []change{
				has(`{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"namespace": "team-web", "name": "web"}, "spec": {"url": "oci://127.0.0.1:30877/team-web/deploy", "ref": {"semver": ">=0.0.0"}}}`),
				set("OCIRepository", "team-web", "web", "0.0.3@sha256:cfbe5ea597ce", "status", "artifact", "revision"),
				says("OCIRepository", "team-web", "web", "ArtifactInStorage", "True", "Succeeded", "stored artifact for digest '9.9.9@sha256:b0aae64d6c86'"),
				says("OCIRepository", "team-web", "web", "Ready", "True", "Succeeded", "stored artifact for digest '9.9.9@sha256:b0aae64d6c86'"),
			},
			want: "OCIRepository team-web/web: RolledBack: the registry offers 9.9.9@b0aae64d, which was not signed as a later version than 0.0.3@cfbe5ea5; 0.0.3@cfbe5ea5 keeps running: team web: find out who has pushed it, delete the tag in the registry, or publish a higher version with `strata publish`",
		},
		"a bucket that does not answer": {
			changes: []change{
				has(`{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "Bucket", "metadata": {"namespace": "team-web", "name": "files"}, ` +
					`"spec": {"endpoint": "storage.googleapis.com", "bucketName": "web-files"}}`),
				says("Bucket", "team-web", "files", "Ready", "False", "BucketOperationFailed", "not found"),
			},
			want: "Bucket team-web/files: BucketOperationFailed: not found: team web: check bucket web-files at storage.googleapis.com, or add spec.secretRef if the source needs a login",
		},
		"a dependency that is not ready": {
			changes: []change{
				says("Kustomization", "platform", "operator", "Ready", "False", "DependencyNotReady", "dependency 'platform/operator-crds' is not ready"),
				says("Kustomization", "platform", "operator-crds", "Ready", "False", "BuildFailed", "kustomize build failed: x"),
			},
			want:     "Kustomization platform/operator-crds (layer sync): BuildFailed: x: the platform team: correct it and push",
			explains: []string{"Kustomization platform/operator"},
		},
		"source-controller is scaled to 0": {
			changes: []change{
				set("Deployment", "flux-system", "source-controller", int64(0), "spec", "replicas"),
				says("GitRepository", "team-web", "web", "Ready", "Unknown", "Progressing", "building artifact"),
			},
			want:     "Deployment flux-system/source-controller (layer platform): ScaledToZero: somebody has scaled it to 0 replicas: the platform team: run `kubectl --kubeconfig \"$(strata kubeconfig)\" -n flux-system scale deployment source-controller --replicas=1`",
			explains: []string{"GitRepository team-web/web"},
		},
		"the operator is scaled to 0": {
			changes: []change{
				set("Deployment", "pulumi-kubernetes-operator", "pulumi-operator", int64(0), "spec", "replicas"),
				stackNamed("new", `{"programRef": {"name": "wordpress-infra"}}`),
			},
			want:     "Deployment pulumi-kubernetes-operator/pulumi-operator (layer sync): ScaledToZero: somebody has scaled it to 0 replicas: the platform team: run `kubectl --kubeconfig \"$(strata kubeconfig)\" -n pulumi-kubernetes-operator scale deployment pulumi-operator --replicas=1`",
			explains: []string{"Stack team-web/new"},
		},
		"the operator was never applied": {
			changes: []change{
				gone("Deployment", "pulumi-kubernetes-operator", "pulumi-operator"),
				says("Kustomization", "platform", "operator", "Ready", "False", "BuildFailed", "kustomize build failed: x"),
			},
			want:     "Kustomization platform/operator (layer sync): BuildFailed: x: the platform team: correct it and push",
			explains: []string{"Deployment pulumi-kubernetes-operator/pulumi-operator"},
		},
		"a sync is suspended": {
			changes: []change{set("Kustomization", "team-web", "web", true, "spec", "suspend")},
			want: "Kustomization team-web/web: Suspended: it is suspended: Flux does not apply pushes: the platform team: run `kubectl --kubeconfig \"$(strata kubeconfig)\" " +
				"-n team-web patch kustomization web --type=merge -p '{\"spec\":{\"suspend\":false}}'`",
		},
		"a sync that an interrupted down has suspended": {
			changes: []change{with("Kustomization", "team-web", "web", func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, true, "spec", "suspend")
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kustomize-controller"}, {Manager: "strata-down", Operation: metav1.ManagedFieldsOperationApply}})
			})},
			want: "Kustomization team-web/web: Suspended: it is suspended: Flux does not apply pushes; `strata down` suspended it: the platform team: run `strata up` to restore the platform, or `strata down` to continue",
		},
		"a Program that is missing, behind a prerequisite": {
			changes: []change{
				stackNamed("first", `{"programRef": {"name": "nowhere"}}`), stackNamed("second", `{"programRef": {"name": "wordpress-infra"}, "prerequisites": [{"name": "first"}]}`),
				says("Stack", "team-web", "first", "Ready", "False", "NotReadyStalled", "spec.programRef: there is no Program team-web/nowhere: create it"),
				says("Stack", "team-web", "second", "Ready", "False", "NotReadyInProgress", "spec.prerequisites: Stack first has not finished its run yet"),
			},
			want:     "Program team-web/nowhere: Missing: Stack team-web/first needs it, and it does not exist: team web: commit it, or correct the name",
			explains: []string{"Stack team-web/first", "Stack team-web/second"},
		},
		"Google Cloud denies what layer 1 gives": {
			changes: []change{says("Stack", "team-web", stack, "Ready", "False", "NotReadyInProgress",
				"database (gcp:sql/database:Database): Permission 'cloudsql.databases.create' denied on resource (or it may not exist). (HTTP 403, forbidden)")},
			want:     "GoogleRole team-web/strataTenant (layer bootstrap): RightsMissing: the Google account of team web has lost the permission cloudsql.databases.create: the platform team: run `strata up`",
			explains: []string{"Stack team-web/wordpress-infra"},
		},
		"Google Cloud denies what no layer gives": {
			changes: []change{says("Stack", "team-web", stack, "Ready", "False", "NotReadyInProgress",
				"bad (gcp:storage/bucket:Bucket): team-web does not have storage.buckets.create access to the Google Cloud project. (HTTP 403, forbidden)")},
			want: "Stack team-web/wordpress-infra: NotReadyInProgress: bad (gcp:storage/bucket:Bucket): team-web does not have storage.buckets.create access to the Google Cloud project. (HTTP 403, forbidden): " +
				"no layer grants storage.buckets.create to the team's Google account (role strataTenant): team web: remove the resource from the Program, or ask the platform team",
		},
		"a pod waits for a Secret of a failing Stack": {
			changes: []change{
				gone("Secret", "team-web", "sql-auth"),
				says("Stack", "team-web", stack, "Ready", "False", "NotReadyStalled", "resources.user: no such instance"),
				podWith(`{"containers": [{"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "sql-auth", "key": "a"}}}]}]}`),
			},
			want:     "Stack team-web/wordpress-infra: NotReadyStalled: resources.user: no such instance: team web: correct the Program or the Stack and push",
			explains: []string{"Pod team-web/waits"},
		},
		"a Stack whose run has failed names its log": {
			changes: []change{
				set("Stack", "team-web", stack, map[string]any{"state": "failed", "inputs": "e537"}, "status", "lastUpdate"),
				says("Stack", "team-web", stack, "Ready", "False", "NotReadyStalled", "resources.user: no such instance"),
			},
			want: "Stack team-web/wordpress-infra: NotReadyStalled: resources.user: no such instance: team web: correct the Program or the Stack and push; log: `strata logs stack/wordpress-infra`",
		},
		"a Stack whose run has failed under upstream's operator has no log": {
			changes: []change{
				set("Stack", "team-web", stack, map[string]any{"state": "failed"}, "status", "lastUpdate"),
				says("Stack", "team-web", stack, "Ready", "False", "NotReadyStalled", "resources.user: no such instance"),
			},
			want: "Stack team-web/wordpress-infra: NotReadyStalled: resources.user: no such instance: team web: correct the Program or the Stack and push",
		},
		"a pod waits for a Secret that nothing creates": {
			changes:  []change{podWith(`{"containers": [{"envFrom": [{"secretRef": {"name": "none"}}]}]}`)},
			want:     "Secret team-web/none: Missing: Pod team-web/waits needs it, and no Program or sync creates it: team web: commit an object that creates it, or correct the name",
			explains: []string{"Pod team-web/waits"},
		},
		"a pod waits for a Secret that a Stack created and somebody deleted": {
			changes: []change{gone("Secret", "team-web", "sql-auth"), podWith(`{"volumes": [{"secret": {"secretName": "sql-auth"}}]}`)},
			want:    "Secret team-web/sql-auth: Missing: Stack team-web/wordpress-infra has created it, and somebody has deleted it: team web: set spec.refresh: true in the Stack: its next run creates it again",
		},
		"a missing volume": {
			changes: []change{
				set("PersistentVolumeClaim", "team-web", "claim", "Pending", "status", "phase"),
				podWith(`{"volumes": [{"persistentVolumeClaim": {"claimName": "claim"}}]}`),
			},
			warnings: map[string]string{"PersistentVolumeClaim team-web/claim": `ProvisioningFailed: storageclass.storage.k8s.io "nosuch" not found`},
			want:     `PersistentVolumeClaim team-web/claim: ProvisioningFailed: storageclass.storage.k8s.io "nosuch" not found: team web: correct the claim, or ask the platform team for its storage class`,
			explains: []string{"Pod team-web/waits"},
		},
		"a pod without a node": {
			changes: []change{
				podWith(`{"containers": []}`),
				says("Pod", "team-web", "waits", "PodScheduled", "False", "Unschedulable", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."),
			},
			want: "Pod team-web/waits: Unschedulable: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector: team web: correct the pod's requirements on its node",
		},
		"an exhausted quota": {
			changes: []change{says("Deployment", "team-web", "wordpress", "ReplicaFailure", "True", "FailedCreate",
				`pods "huge-b65b899cb-x6rfv" is forbidden: exceeded quota: strata, requested: requests.cpu=300, used: requests.cpu=160m, limited: requests.cpu=4`)},
			want: "Deployment team-web/wordpress: QuotaExceeded: the quota rejects its pods: exceeded quota: strata, requested: requests.cpu=300, used: requests.cpu=160m, limited: requests.cpu=4: " +
				"team web: lower its requests, or ask the platform team for a higher quota in teams.yaml",
		},
		"an applied object that somebody deleted": {
			changes: []change{gone("Program", "team-web", "wordpress-infra")},
			want:    "Program team-web/wordpress-infra: Missing: Kustomization team-web/web has applied it, and somebody has deleted it: team web: wait: Flux applies it again within 10m, or after the next push",
		},
		"a policy that somebody deleted": {
			changes: []change{set("Kustomization", "platform", "operator", []any{map[string]any{
				"id": "_strata-programs_admissionregistration.k8s.io_ValidatingAdmissionPolicy", "v": "v1",
			}}, "status", "inventory", "entries")},
			want: "ValidatingAdmissionPolicy strata-programs (layer sync): Missing: Kustomization platform/operator has applied it, and somebody has deleted it: the platform team: run `strata up`",
		},
		"an object in progress follows a failed one": {
			changes: []change{
				says("Kustomization", "flux-system", "flux-system", "Ready", "Unknown", "Progressing", "Reconciliation in progress"),
				says("Stack", "team-web", stack, "Ready", "False", "NotReadyStalled", "no"),
			},
			want: "Stack team-web/wordpress-infra: NotReadyStalled: no: team web: correct the Program or the Stack and push",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t)
		})
	}
}

func TestReadyMeansThatTheLatestPushIsApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"a fetched commit that is not applied": {
			set("GitRepository", "team-web", "web", "main@sha1:ffff0000ffff0000", "status", "artifact", "revision"),
			"Kustomization team-web/web: Progressing: the latest commit, main@ffff0000, is not applied yet",
		},
		"a source with a request of a Receiver": {
			with("GitRepository", "team-web", "web", func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{snapshot.AnnotationRequestedAt: "now"})
			}),
			"GitRepository team-web/web: Progressing: Flux has not reconciled it since the last request",
		},
		"a Program that has changed since its Stack ran": {
			with("Program", "team-web", "wordpress-infra", func(o *unstructured.Unstructured) {
				o.SetGeneration(2)
				_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"type": "Ready", "status": "True"}}, "status", "conditions")
			}),
			"Stack team-web/wordpress-infra: Progressing: the latest change of Program wordpress-infra has not run yet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cause, _ := reportOf(t, nil, tc.change).RootCause()
			if got := cause.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
