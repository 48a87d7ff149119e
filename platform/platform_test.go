package platform_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
)

const (
	providerType           = "pulumi:providers:kubernetes"
	fluxType               = "flux:index/bootstrapGit:BootstrapGit"
	namespaceType          = "kubernetes:core/v1:Namespace"
	secretType             = "kubernetes:core/v1:Secret"
	clusterRoleType        = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"
	clusterRoleBindingType = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"
	roleType               = "kubernetes:rbac.authorization.k8s.io/v1:Role"
	kustomizationType      = "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization"
	sourceType             = "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: strata
clusters: [{name: strata, cluster: {server: "https://203.0.113.7", certificate-authority-data: Y2E=}}]
contexts: [{name: strata, context: {cluster: strata, user: strata}}]
users: [{name: strata, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: gke-gcloud-auth-plugin, interactiveMode: Never}}}]
`

// below returns an engine that answers like a cluster with layer 1 for the teams web and api.
func below(t *testing.T, edit func(*platform.Config)) *pulumitest.Engine {
	t.Helper()
	file := filepath.Join(t.TempDir(), "teams.yaml")
	content := "apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\n- {name: api, branch: live, path: ./deploy}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := platform.NewConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.TeamsFile = file
	config.FleetURL, config.PlatformURL = "https://git.example.com/fleet.git", "https://git.example.com/platform.git"
	config.TeamURL = "https://git.example.com/teams/{team}.git"
	config.GitUsername, config.GitPassword = "flux", "canary-push"
	config.FleetUsername, config.FleetPassword = "reader", "canary-read"
	config.TeamCredentials = map[string]platform.Credentials{"web": {Username: "web", Password: "canary-web"}}
	if edit != nil {
		edit(&config)
	}
	if config.Target != "local" && config.OperatorImage == "" {
		config.Operator = operators.Upstream // It needs no image.
	}
	engine := &pulumitest.Engine{Config: map[string]string{}, Read: map[string]resource.PropertyMap{}}
	values, err := config.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range values {
		short := strings.TrimPrefix(key, platform.Project+":")
		engine.Config[short] = value.Value
		if value.Secret {
			engine.Secrets = append(engine.Secrets, short)
		}
	}
	engine.Read["pulumi:pulumi:StackReference"] = handedOn("web", "api")
	engine.Outputs = map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		"random:index/randomPassword:RandomPassword": func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"result": resource.MakeSecret(resource.NewProperty("canary-" + args.Name))}
		},
	}
	return engine
}

// audience is the audience of the cluster's tokens.
const audience = "identitynamespace:acme.svc.id.goog:https://container.googleapis.com/v1/projects/acme/locations/europe-west1/clusters/strata"

func handedOn(teams ...string) resource.PropertyMap {
	tenants := map[string]any{}
	for _, team := range teams {
		tenants[team] = map[string]any{
			"account": "team-" + team + "@acme", "backend": "gs://acme-" + team, "credentials": "canary-key-" + team,
			"passphrase": "canary-passphrase-" + team,
		}
	}
	secret := func(value any) resource.PropertyValue { return resource.MakeSecret(resource.NewPropertyValue(value)) }
	return resource.PropertyMap{
		"name": resource.NewProperty("organization/strata-bootstrap/dev"),
		"outputs": resource.NewProperty(resource.PropertyMap{
			handoff.OutputVersion: resource.NewProperty(float64(handoff.BootstrapVersion)), handoff.OutputProject: resource.NewProperty("acme"),
			handoff.OutputRegion: resource.NewProperty("europe-west1"), handoff.OutputInstance: resource.NewProperty("strata"),
			handoff.OutputCluster:    resource.NewProperty("projects/acme/locations/europe-west1/clusters/strata"),
			handoff.OutputKubeconfig: secret(kubeconfig), handoff.OutputTenants: secret(tenants),
			handoff.OutputAudience: resource.NewProperty(audience), handoff.OutputPlans: resource.NewProperty("strata-plan@acme.iam.gserviceaccount.com"),
		}),
	}
}

func run(engine *pulumitest.Engine) error {
	return engine.Run(platform.Project, "dev", platform.Program)
}

func expect(t *testing.T, r pulumitest.Resource, properties map[string]any) {
	t.Helper()
	for path, want := range properties {
		if got, _ := pulumitest.Plain(t, r.Inputs, path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s of %s is %v, want %v", path, r.Name, got, want)
		}
	}
}

func TestTheClusterIsReachedByTheHandedKubeconfigAndKnownByItsIdentity(t *testing.T) {
	engine := below(t, nil)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	cluster := engine.Get(t, providerType, "cluster")
	expect(t, cluster, map[string]any{
		"clusterIdentifier": "projects/acme/locations/europe-west1/clusters/strata", "enableServerSideApply": true,
	})
	if got, isSecret := pulumitest.Plain(t, cluster.Inputs, "kubeconfig"); got != kubeconfig || !isSecret {
		t.Errorf("the kubeconfig is secret: %v", isSecret)
	}
	for _, r := range engine.All() {
		if strings.HasPrefix(r.Type, "gcp:") {
			t.Errorf("%s: this layer must not reach the cloud", r.URN)
		}
		if strings.HasPrefix(r.Type, "kubernetes:") && !strings.HasPrefix(r.Provider, cluster.URN) {
			t.Errorf("%s is made by provider %q", r.URN, r.Provider)
		}
	}
}

func TestThePlatformAccountSyncsTheTargetsEntryPoint(t *testing.T) {
	engine := below(t, func(c *platform.Config) { c.Target = "local" })
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	expect(t, engine.OfType(fluxType)[0], map[string]any{"path": "clusters/local", "version": "v2.9.4"})
	expect(t, engine.Get(t, kustomizationType, "platform-sync-kustomization"), map[string]any{
		"metadata.name": "platform", "metadata.namespace": "platform", "spec.serviceAccountName": "platform",
		"spec.path": "./sync/clusters/local", "spec.sourceRef.name": "platform", "spec.prune": true,
	})
	source := engine.Get(t, sourceType, "platform-source-repository")
	expect(t, source, map[string]any{"spec.url": "https://git.example.com/platform.git", "spec.ref.branch": "main"})
	if _, found := source.Inputs["spec"].ObjectValue()["secretRef"]; found {
		t.Error("the source of the platform repository has a login, but the configuration has none")
	}
	sync := engine.Get(t, "strata:index:FluxSync", "platform-sync")
	for _, kept := range append(append(engine.OfType(clusterRoleType), engine.OfType(roleType)...), engine.OfType(fluxType)...) {
		if !sync.DependsOn(kept) {
			t.Errorf("the sync does not depend on %s", kept.URN)
		}
	}
}

func TestEveryDeletionInTheClusterHasATimeout(t *testing.T) {
	engine := below(t, nil)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	bounds := map[string]string{}
	for _, r := range engine.All() {
		if strings.HasPrefix(r.Type, "kubernetes:") {
			if r.DeleteTimeout == "" {
				t.Errorf("nothing bounds the wait for the end of %s", r.URN)
			}
			bounds[r.Type] = r.DeleteTimeout
			// With foreground propagation an object disappears a moment after its deletion, just when the provider starts
			// to watch.
			metadata, _ := pulumitest.Plain(t, r.Inputs, "metadata")
			annotations, _ := metadata.(map[string]any)["annotations"].(map[string]any)
			background := annotations["pulumi.com/deletionPropagationPolicy"] == "background"
			if r.DeletedWith == "" && !background && !strings.HasSuffix(r.Type, "Patch") && !strings.HasSuffix(r.Type, ":Namespace") {
				t.Errorf("%s, deleted by itself, is not deleted in the background", r.URN)
			}
		}
	}
	for kind, want := range map[string]string{
		"kubernetes:core/v1:Secret":                               "30s",
		"kubernetes:core/v1:Namespace":                            "3m",
		"kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization": "2m",
		"kubernetes:notification.toolkit.fluxcd.io/v1:Receiver":   "5s",
	} {
		if bounds[kind] != want {
			t.Errorf("the wait for the end of a %s is %q, want %s", kind, bounds[kind], want)
		}
	}
}

func TestEachTeamHasItsHopAfterTheOperatorsSync(t *testing.T) {
	engine := below(t, nil)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	hops := engine.OfType(hop.Type)
	if len(hops) != 2 {
		t.Fatalf("%d hops were made, want 2", len(hops))
	}
	sync := engine.Get(t, kustomizationType, "platform-sync-kustomization")
	for _, each := range hops {
		if !each.DependsOn(sync) {
			t.Errorf("%s does not depend on the sync that keeps the operator", each.URN)
		}
	}
	expect(t, engine.Get(t, sourceType, "team-api-source-repository"), map[string]any{
		"metadata.namespace": "team-api", "spec.url": "https://git.example.com/teams/api.git", "spec.ref.branch": "live",
	})
	expect(t, engine.Get(t, kustomizationType, "team-api-sync-kustomization"), map[string]any{
		"spec.path": "./deploy", "spec.serviceAccountName": "api",
	})
	expect(t, engine.Get(t, secretType, "team-web-context"), map[string]any{
		"stringData.GOOGLE_CREDENTIALS": "canary-key-web", "stringData.PULUMI_BACKEND_URL": "gs://acme-web",
		"stringData.PULUMI_CONFIG_PASSPHRASE": "canary-passphrase-web",
	})
	want := map[string]any{
		"web": map[string]any{"namespace": "team-web", "account": "web"}, "api": map[string]any{"namespace": "team-api", "account": "api"},
	}
	if got := engine.Output(t, platform.OutputTeams); !reflect.DeepEqual(got.Value, want) || got.Secret {
		t.Errorf("teams (secret: %v) are %v, want %v", got.Secret, got.Value, want)
	}
}

func TestNoTeamGetsASecretOfAnotherOrOfThePlatform(t *testing.T) {
	engine := below(t, nil)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for _, secret := range engine.OfType(secretType) {
		namespace, _ := pulumitest.Plain(t, secret.Inputs, "metadata.namespace")
		content, isSecret := pulumitest.Plain(t, secret.Inputs, "stringData")
		if !isSecret {
			t.Errorf("%s is in plain text", secret.URN)
		}
		for _, value := range content.(map[string]any) {
			text := value.(string)
			foreign := strings.Contains(text, "canary-push") && namespace != "flux-system" ||
				strings.Contains(text, "web") && namespace != "team-web" || strings.Contains(text, "-api") && namespace != "team-api"
			if foreign {
				t.Errorf("%s in %v holds what belongs elsewhere", secret.Name, namespace)
			}
		}
	}
}

func TestOnlyThePlatformAccountIsBoundToTheWholeCluster(t *testing.T) {
	engine := below(t, nil)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for _, binding := range engine.OfType(clusterRoleBindingType) {
		if strings.HasSuffix(binding.Name, "-reviewers") {
			expect(t, binding, map[string]any{"roleRef.name": "system:auth-delegator"})
			continue
		}
		expect(t, binding, map[string]any{
			"roleRef.name": "strata:platform", "subjects[0].namespace": "platform", "subjects[0].name": "platform",
		})
	}
	names := map[string]bool{}
	for _, role := range engine.OfType(clusterRoleType) {
		name, _ := pulumitest.Plain(t, role.Inputs, "metadata.name")
		names[name.(string)] = true
	}
	if len(names) != len(platform.UpstreamClusterRoles()) {
		t.Errorf("ClusterRoles are %v", names)
	}
	for _, namespace := range []string{"namespace-platform", "namespace-pulumi-kubernetes-operator"} {
		expect(t, engine.Get(t, namespaceType, namespace), map[string]any{
			`metadata.labels["pod-security.kubernetes.io/enforce"]`: "restricted",
		})
	}
}

func TestATeamThatLayerOneDoesNotHaveNamesTheNextCommand(t *testing.T) {
	engine := below(t, nil)
	engine.Read["pulumi:pulumi:StackReference"] = handedOn("web")
	err := run(engine)
	if err == nil || !strings.Contains(err.Error(), "tenants.api is missing") || !strings.Contains(err.Error(), "run `strata layer up bootstrap`") {
		t.Errorf("error is %v", err)
	}
	if made := engine.All(); len(made) > 0 {
		t.Errorf("%d resources were made", len(made))
	}
}

func TestTheProjectFileDeclaresTheSameSettings(t *testing.T) {
	pulumitest.CheckProjectFile(t, "../Pulumi.yaml", platform.Project, platform.Config{})
}
