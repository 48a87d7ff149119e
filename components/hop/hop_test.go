package hop_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	namespaceType     = "kubernetes:core/v1:Namespace"
	secretType        = "kubernetes:core/v1:Secret"
	accountPatchType  = "kubernetes:core/v1:ServiceAccountPatch"
	policyType        = "kubernetes:strata.dev/v1:TenantPolicy"
	receiverType      = "kubernetes:notification.toolkit.fluxcd.io/v1:Receiver"
	reviewersType     = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"
	configMapType     = "kubernetes:core/v1:ConfigMap"
	accountType       = "kubernetes:core/v1:ServiceAccount"
	quotaType         = "kubernetes:core/v1:ResourceQuota"
	limitsType        = "kubernetes:core/v1:LimitRange"
	networkType       = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
	roleBindingType   = "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"
	sourceType        = "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository"
	kustomizationType = "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization"
	passwordType      = "random:index/randomPassword:RandomPassword"
)

func given() *hop.HopArgs {
	return &hop.HopArgs{
		Namespace: "team-web", Account: "web", Roles: []string{"strata:team"},
		Operator:  hop.Operator{Namespace: pulumi.String("operator-system"), Account: pulumi.String("operator"), Role: "strata:operator-tenant"},
		PlanRole:  "strata:team-plan",
		Approvers: hop.Approvers{Role: "strata:approver", Users: []string{"alice@example.com"}, Groups: []string{"dbas"}, Accounts: true},
		Source:    hop.Source{URL: pulumi.String("https://git.example.com/web.git"), Branch: pulumi.String("main"), Path: pulumi.String("./")},
		Policy:    &hop.Policy{Types: []string{"gcp:sql/*", "kubernetes:core/v1:Secret"}, StackAccounts: []string{"web"}, Contact: pulumi.String("the platform team")},
		Context: handoff.Tenant{
			BackendURL: pulumi.String("gs://acme-web"), Passphrase: pulumi.String("canary-passphrase"), GoogleCredentials: pulumi.String("canary-key"),
			Project: pulumi.String("acme"), Region: pulumi.String("europe-west1"), Instance: pulumi.String("strata"),
		},
	}
}

func newEngine() *pulumitest.Engine {
	return &pulumitest.Engine{Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		passwordType: func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"result": resource.MakeSecret(resource.NewProperty("canary-token"))}
		},
	}}
}

func run(engine *pulumitest.Engine, args *hop.HopArgs) error {
	return engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		cluster, err := kubernetes.NewProvider(ctx, "cluster", nil)
		if err != nil {
			return err
		}
		web, err := hop.NewHop(ctx, "web", args, pulumi.Provider(cluster))
		if err != nil {
			return err
		}
		ctx.Export("namespace", web.Namespace)
		ctx.Export("account", web.Account)
		return nil
	})
}

func TestAHopIsOneComponentOnTheGivenCluster(t *testing.T) {
	engine := newEngine()
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	component := engine.Get(t, hop.Type, "web")
	provider := engine.Get(t, "pulumi:providers:kubernetes", "cluster")
	for _, r := range engine.All() {
		if r.Type == hop.Type || strings.HasPrefix(r.Type, "pulumi:providers:") {
			continue
		}
		if !strings.Contains(r.URN, hop.Type+"$") {
			t.Errorf("%s is not below the component", r.URN)
		}
		if strings.HasPrefix(r.Type, "kubernetes:") && !strings.HasPrefix(r.Provider, provider.URN) {
			t.Errorf("%s is made by provider %q, want %s", r.URN, r.Provider, provider.URN)
		}
	}
	if parent := engine.Get(t, namespaceType, "web-namespace").Parent; parent != component.URN {
		t.Errorf("parent of the namespace is %s", parent)
	}
	for name, want := range map[string]string{"namespace": "team-web", "account": "web"} {
		if got := engine.Output(t, name).Value; got != want {
			t.Errorf("%s is %v, want %s", name, got, want)
		}
	}
}

func TestEveryChildHasItsURN(t *testing.T) {
	engine, args := newEngine(), given()
	args.Operator.Workspaces, args.Source.Webhook = true, true
	args.Source.Username, args.Source.Password = pulumi.String("web"), pulumi.String("canary-read")
	args.Accounts = []hop.Account{{Name: "infra", Roles: []string{"strata:team-stacks", "strata:team-sources"}, Path: "./infra"}}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	const source, sync, receiver = "strata:index:FluxSource", "strata:index:FluxSync", "strata:index:FluxReceiver"
	own := func(kind, name string) string { return hop.Type + "$" + kind + "::" + name }
	within := func(component, kind, name string) string { return own(component+"$"+kind, name) }
	want := []string{
		hop.Type + "::web",
		own(namespaceType, "web-namespace"), own(quotaType, "web-quota"), own(limitsType, "web-limits"),
		own(networkType, "web-network"), own(networkType, "web-workspaces"), own(reviewersType, "web-reviewers"),
		own(accountType, "web-account"), own(accountType, "web-account-infra"), own(accountPatchType, "web-default-account"),
		own(accountType, "web-plan-account"), own(roleBindingType, "web-plan"),
		own(roleBindingType, "web-team"), own(roleBindingType, "web-operator"), own(roleBindingType, "web-approvers"),
		own(roleBindingType, "web-account-infra"), own(roleBindingType, "web-account-infra-team-sources"),
		own(secretType, "web-context"), own(configMapType, "web-config"), own(policyType, "web-policy"),
		own(source, "web-source"), within(source, sourceType, "web-source-repository"), within(source, secretType, "web-source-credentials"),
		own(sync, "web-sync"), within(sync, kustomizationType, "web-sync-kustomization"),
		own(sync, "web-sync-infra"), within(sync, kustomizationType, "web-sync-infra-kustomization"),
		own(receiver, "web-receiver"), within(receiver, receiverType, "web-receiver-receiver"),
		within(receiver, secretType, "web-receiver-token"), within(receiver, passwordType, "web-receiver-secret"),
	}
	var got []string
	for _, r := range engine.All() {
		if !strings.HasPrefix(r.Type, "pulumi:") {
			got = append(got, strings.TrimPrefix(r.URN, "urn:pulumi:dev::proj::"))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("URNs are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheContextIsSecret(t *testing.T) {
	engine := newEngine()
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	secret := engine.Get(t, secretType, "web-context")
	for key, want := range map[string]string{
		"PULUMI_BACKEND_URL": "gs://acme-web", "PULUMI_CONFIG_PASSPHRASE": "canary-passphrase", "GOOGLE_CREDENTIALS": "canary-key",
		"GOOGLE_PROJECT": "acme", "GOOGLE_REGION": "europe-west1",
	} {
		got, isSecret := pulumitest.Plain(t, secret.Inputs, "stringData."+key)
		if got != want || !isSecret {
			t.Errorf("%s is %v (secret: %v), want %s", key, got, isSecret, want)
		}
	}
	if got, _ := pulumitest.Plain(t, secret.Inputs, "metadata.name"); got != "strata-context" {
		t.Errorf("the Secret is named %v", got)
	}
	config := engine.Get(t, configMapType, "web-config")
	if got, isSecret := pulumitest.Plain(t, config.Inputs, "data.instance"); got != "strata" || isSecret {
		t.Errorf("instance is %v (secret: %v)", got, isSecret)
	}
}

func TestRightsAreWithinTheNamespace(t *testing.T) {
	engine := newEngine()
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	for _, r := range engine.All() {
		if strings.Contains(r.Type, "ClusterRole") {
			t.Errorf("%s grants permissions in the whole cluster", r.URN)
		}
	}
	for name, want := range map[string]map[string]any{
		"web-team": {"roleRef.name": "strata:team", "subjects[0].name": "web", "subjects[0].namespace": "team-web"},
		"web-plan": {"roleRef.name": "strata:team-plan", "subjects[0].name": "strata-plan", "subjects[0].namespace": "team-web"},
		"web-approvers": {
			"roleRef.name": "strata:approver", "subjects[0].kind": "User", "subjects[0].name": "alice@example.com",
			"subjects[1].kind": "Group", "subjects[1].name": "dbas", "subjects[2].kind": "ServiceAccount", "subjects[2].name": "web", "subjects[2].namespace": "team-web",
		},
		"web-operator": {"roleRef.name": "strata:operator-tenant", "subjects[0].name": "operator", "subjects[0].namespace": "operator-system"},
	} {
		binding := engine.Get(t, roleBindingType, name)
		want["metadata.namespace"], want["roleRef.kind"] = "team-web", "ClusterRole"
		for path, want := range want {
			if got, _ := pulumitest.Plain(t, binding.Inputs, path); got != want {
				t.Errorf("%s of %s is %v, want %v", path, name, got, want)
			}
		}
	}
	for _, name := range []string{"web-account", "web-plan-account"} {
		account := engine.Get(t, accountType, name)
		if got, _ := pulumitest.Plain(t, account.Inputs, "automountServiceAccountToken"); got != false {
			t.Errorf("pods get the token of %s without asking", name)
		}
		if got, _ := pulumitest.Plain(t, account.Inputs, `metadata.labels["strata.dev/hop"]`); got != "web" {
			t.Errorf("%s has no label of the hop: the team could change it", name)
		}
	}
	namespace := engine.Get(t, namespaceType, "web-namespace")
	if got, _ := pulumitest.Plain(t, namespace.Inputs, `metadata.labels["pod-security.kubernetes.io/enforce"]`); got != "baseline" {
		t.Errorf("pod security is %v", got)
	}
}

func TestTheSyncRunsAsTheTeamAndIsDeletedBeforeItsDependencies(t *testing.T) {
	engine := newEngine()
	args := given()
	args.Source.Username, args.Source.Password = pulumi.String("web"), pulumi.String("canary-read")
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	kustomization := engine.OfType(kustomizationType)[0]
	for path, want := range map[string]any{
		"metadata.name": "web", "metadata.namespace": "team-web", "spec.serviceAccountName": "web", "spec.targetNamespace": "team-web",
		"spec.prune": true, "spec.wait": true, "spec.path": "./", "spec.sourceRef.name": "web",
	} {
		if got, _ := pulumitest.Plain(t, kustomization.Inputs, path); got != want {
			t.Errorf("the sync's %s is %v, want %v", path, got, want)
		}
	}
	source := engine.OfType(sourceType)[0]
	if got, _ := pulumitest.Plain(t, source.Inputs, "spec.url"); got != "https://git.example.com/web.git" {
		t.Errorf("the source is %v", got)
	}
	sync := engine.Get(t, "strata:index:FluxSync", "web-sync")
	for _, kept := range []pulumitest.Resource{
		engine.Get(t, secretType, "web-context"), engine.Get(t, configMapType, "web-config"), engine.Get(t, accountType, "web-account"),
		engine.Get(t, roleBindingType, "web-team"), engine.Get(t, roleBindingType, "web-operator"),
		engine.Get(t, quotaType, "web-quota"), engine.Get(t, limitsType, "web-limits"), engine.Get(t, networkType, "web-network"),
		engine.Get(t, policyType, "web-policy"),
	} {
		if !sync.DependsOn(kept) {
			t.Errorf("the sync does not depend on %s", kept.URN)
		}
		if kept.DeletedWith != engine.Get(t, namespaceType, "web-namespace").URN {
			t.Errorf("%s is not deleted with its namespace", kept.URN)
		}
	}
	if !engine.Get(t, "strata:index:FluxSource", "web-source").DependsOn(engine.Get(t, policyType, "web-policy")) {
		t.Error("the source does not depend on the TenantPolicy that admission looks up")
	}
	credentials := slices.DeleteFunc(engine.OfType(secretType), func(r pulumitest.Resource) bool { return r.Name == "web-context" })
	if len(credentials) != 1 {
		t.Fatalf("%d Secrets besides the context, want 1", len(credentials))
	}
	if got, isSecret := pulumitest.Plain(t, credentials[0].Inputs, "stringData.password"); got != "canary-read" || !isSecret {
		t.Errorf("the password is secret: %v", isSecret)
	}
}

func TestAPreviewOfAHopPasses(t *testing.T) {
	engine := newEngine()
	engine.Preview = true
	for _, unknown := range []string{namespaceType, accountType} {
		engine.Outputs[unknown] = func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"metadata": resource.MakeComputed(resource.NewProperty(""))}
		}
	}
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
}
