package hop_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/pulumitest"
)

func TestUnlistedTrafficIsDenied(t *testing.T) {
	engine, args := newEngine(), given()
	args.PrivateRanges = pulumi.ToStringArray([]string{"10.8.0.0/24"})
	args.ControlPlane = []netip.Addr{netip.MustParseAddr("10.132.0.2"), netip.MustParseAddr("2001:db8::7")}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	policies := engine.OfType(networkType)
	if len(policies) != 1 {
		t.Fatalf("%d NetworkPolicies, want 1", len(policies))
	}
	spec := plain(t, policies[0], "spec").(map[string]any)
	if got := spec["podSelector"]; !reflect.DeepEqual(got, map[string]any{}) {
		t.Errorf("the policy selects %v, want every pod", got)
	}
	if got := spec["policyTypes"]; !reflect.DeepEqual(got, []any{"Ingress", "Egress"}) {
		t.Errorf("the policy types are %v", got)
	}
	if got, want := described(spec["ingress"], "from"), []string{"own pods: all"}; !slices.Equal(got, want) {
		t.Errorf("ingress is %q, want %q", got, want)
	}
	want := []string{
		"own pods: all",
		"namespace kube-system, 169.254.20.10/32: UDP 53, TCP 53",
		"0.0.0.0/0 but [10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16]: all",
		"169.254.169.252/32: TCP 988", "169.254.169.254/32: TCP 80",
		"10.132.0.2/32, 2001:db8::7/128: TCP 443",
		"10.8.0.0/24: TCP 443, TCP 3306, TCP 3307, TCP 5432",
	}
	if got := described(spec["egress"], "to"); !slices.Equal(got, want) {
		t.Errorf("egress is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAComputedRangeMustBePrivateToo(t *testing.T) {
	engine, args := newEngine(), given()
	args.PrivateRanges = pulumi.StringArray{pulumi.String("0.0.0.0/0").ToStringOutput()}
	if err := run(engine, args); err == nil || !strings.Contains(err.Error(), `private range "0.0.0.0/0" is not a range of private addresses`) {
		t.Errorf("error is %v", err)
	}
	if made := engine.OfType(networkType); len(made) > 0 {
		t.Error("a NetworkPolicy allows every address")
	}
}

func TestOnlyThePodsOfUpstreamsStacksGetATokenWithoutAsking(t *testing.T) {
	for _, workspaces := range []bool{true, false} {
		engine, args := newEngine(), given()
		args.Operator.Workspaces = workspaces
		args.Accounts = []hop.Account{{Name: "sync", Roles: []string{"strata:team-workloads"}}}
		if err := run(engine, args); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"web-account": workspaces, "web-account-sync": false} {
			if got := plain(t, engine.Get(t, accountType, name), "automountServiceAccountToken"); got != want {
				t.Errorf("with workspaces %v, pods get the token of %s: %v, want %v", workspaces, name, got, want)
			}
		}
	}
}

func TestUpstreamsWorkspacesHaveOnlyTheirNetworkAccess(t *testing.T) {
	engine, args := newEngine(), given()
	args.Operator.Workspaces = true
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	policy := engine.Get(t, networkType, "web-workspaces")
	spec := plain(t, policy, "spec").(map[string]any)
	if got := plain(t, policy, `spec.podSelector.matchLabels["auto.pulumi.com/component"]`); got != "workspace" {
		t.Errorf("the policy selects %v", got)
	}
	if got, want := described(spec["ingress"], "from"), []string{"namespace operator-system: TCP 50051"}; !slices.Equal(got, want) {
		t.Errorf("ingress of workspaces is %q, want %q", got, want)
	}
	want := []string{"namespace operator-system: TCP 9090", "namespace flux-system with app=source-controller: TCP 9090"}
	if got := described(spec["egress"], "to"); !slices.Equal(got, want) {
		t.Errorf("egress of workspaces is %q, want %q", got, want)
	}
	reviewers := engine.Get(t, reviewersType, "web-reviewers")
	for path, want := range map[string]any{
		"roleRef.name": "system:auth-delegator", "subjects[0].name": "web", "subjects[0].namespace": "team-web",
		"metadata.name": "strata:team-web:reviewers",
	} {
		if got := plain(t, reviewers, path); got != want {
			t.Errorf("%s of the reviewers is %v, want %v", path, got, want)
		}
	}
	if subjects := plain(t, reviewers, "subjects").([]any); len(subjects) != 1 {
		t.Errorf("there are %d reviewers", len(subjects))
	}
}

func TestTheQuotaIsTheDefaultWithOverrides(t *testing.T) {
	engine, args := newEngine(), given()
	args.Quota = pulumi.ToStringMap(map[string]string{"pods": "7", "count/secrets": "100"})
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	hard := plain(t, engine.Get(t, quotaType, "web-quota"), "spec.hard").(map[string]any)
	want := map[string]any{"pods": "7", "count/secrets": "100"}
	for resource, amount := range hop.DefaultQuota() {
		if resource != "pods" {
			want[resource] = amount
		}
	}
	if !reflect.DeepEqual(hard, want) {
		t.Errorf("the quota is %v, want %v", hard, want)
	}
	for _, outside := range []string{"services.nodeports", "services.loadbalancers"} {
		if hard[outside] != "0" {
			t.Errorf("the team may have %v of %s", hard[outside], outside)
		}
	}
}

// TestTheQuotaFitsFiftyStacksBesideTheTeamsOwnPods adds the pods of the runs to the quota of a team without them.
func TestTheQuotaFitsFiftyStacksBesideTheTeamsOwnPods(t *testing.T) {
	engine, args := newEngine(), given()
	args.Policy = &hop.Policy{Workspace: &hop.Workspace{Memory: "1Gi"}}
	args.Quota = pulumi.ToStringMap(map[string]string{"requests.storage": "1Ti"})
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	hard := plain(t, engine.Get(t, quotaType, "web-quota"), "spec.hard").(map[string]any)
	want := map[string]any{"requests.storage": "1Ti", "requests.cpu": "9", "requests.memory": "58Gi", "limits.memory": "116Gi", "pods": "100"}
	for resource, amount := range hop.DefaultQuota() {
		if _, changed := want[resource]; !changed {
			want[resource] = amount
		}
	}
	if !reflect.DeepEqual(hard, want) {
		t.Errorf("the quota is %v, want %v", hard, want)
	}
}

func TestAnImpossibleWorkspaceIsRefused(t *testing.T) {
	for want, given := range map[string]hop.Workspace{
		`image "pulumi/pulumi:latest" has no digest`: {Image: "pulumi/pulumi:latest"},
		`cpu "much" is not a quantity`:               {CPU: "much"},
		`memory "0" is not a quantity above zero`:    {Memory: "0"},
		"memory 4Gi is above memoryLimit 2Gi":        {Memory: "4Gi"},
	} {
		if problems := strings.Join(given.Problems(), "; "); !strings.Contains(problems, want) {
			t.Errorf("the problems of %+v are %q, want %q", given, problems, want)
		}
	}
	if problems := (hop.Workspace{Image: "a@sha256:" + strings.Repeat("0a", 32)}).Problems(); len(problems) > 0 {
		t.Errorf("an image by its digest: %q", problems)
	}
}

func TestNoContainerIsWithoutALimitOfItsMemory(t *testing.T) {
	engine := newEngine()
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	limits := plain(t, engine.Get(t, limitsType, "web-limits"), "spec.limits").([]any)[0].(map[string]any)
	for _, field := range []string{"default", "min"} {
		if set, _ := limits[field].(map[string]any); set["memory"] == nil {
			t.Errorf("the limits have no %s of the memory: %v", field, limits)
		}
	}
}

func TestTheDefaultAccountIsPatchedAndNotReplaced(t *testing.T) {
	engine := newEngine()
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	patch := engine.Get(t, accountPatchType, "web-default-account")
	for path, want := range map[string]any{"metadata.name": "default", "metadata.namespace": "team-web", "automountServiceAccountToken": false} {
		if got := plain(t, patch, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestFurtherAccountsHaveTheirOwnRightsAndSyncs(t *testing.T) {
	engine, args := newEngine(), given()
	args.Accounts = []hop.Account{
		{Name: "infra", Roles: []string{"strata:team-stacks", "strata:team-sources"}, Path: "./infra"},
		{Name: "ci", Roles: []string{"strata:team-workloads"}},
	}
	args.Policy.StackAccounts = []string{"infra"}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	bound := map[string]string{}
	for _, binding := range engine.OfType(roleBindingType) {
		if plain(t, binding, "metadata.namespace") != "team-web" {
			t.Errorf("%s is outside the namespace", binding.Name)
		}
		bound[binding.Name] = fmt.Sprintf("%v to %v", plain(t, binding, "roleRef.name"), plain(t, binding, "subjects[0].name"))
	}
	want := map[string]string{
		"web-team": "strata:team to web", "web-operator": "strata:operator-tenant to operator",
		"web-account-infra": "strata:team-stacks to infra", "web-account-infra-team-sources": "strata:team-sources to infra",
		"web-account-ci": "strata:team-workloads to ci", "web-plan": "strata:team-plan to strata-plan",
		"web-approvers": "strata:approver to alice@example.com",
	}
	if !reflect.DeepEqual(bound, want) {
		t.Errorf("bindings are %v, want %v", bound, want)
	}
	syncs := map[string]string{}
	for _, sync := range engine.OfType(kustomizationType) {
		syncs[plain(t, sync, "metadata.name").(string)] = fmt.Sprintf("%v as %v", plain(t, sync, "spec.path"), plain(t, sync, "spec.serviceAccountName"))
	}
	if want := map[string]string{"web": "./ as web", "infra": "./infra as infra"}; !reflect.DeepEqual(syncs, want) {
		t.Errorf("syncs are %v, want %v", syncs, want)
	}
	if got := plain(t, engine.Get(t, policyType, "web-policy"), "spec.stackAccounts"); !reflect.DeepEqual(got, []any{"infra"}) {
		t.Errorf("Stacks run as %v", got)
	}
}

func TestOnlyTheAccountsOfStacksActAsTheGoogleAccount(t *testing.T) {
	engine, args := newEngine(), given()
	const google = "team-web@acme.iam.gserviceaccount.com"
	args.GoogleAccount = pulumi.String(google)
	args.Accounts = []hop.Account{{Name: "infra", Roles: []string{"strata:team-stacks"}}}
	args.Policy.StackAccounts = []string{"infra"}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	if got := plain(t, engine.Get(t, accountType, "web-account-infra"), `metadata.annotations["iam.gke.io/gcp-service-account"]`); got != google {
		t.Errorf("Stacks act as %v", got)
	}
	if meta := plain(t, engine.Get(t, accountType, "web-account"), "metadata").(map[string]any); meta["annotations"] != nil {
		t.Errorf("the application's account has %v", meta["annotations"])
	}
}

func TestAnEmptyOptionalTextIsLeftOut(t *testing.T) {
	engine, args := newEngine(), given()
	args.Source.Username, args.Source.Password, args.Source.Interval = pulumi.String(""), pulumi.String(""), pulumi.String("")
	args.GoogleAccount = pulumi.String("")
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	for _, secret := range engine.OfType(secretType) {
		if secret.Name != "web-context" {
			t.Errorf("Secret %s holds an empty login", secret.Name)
		}
	}
	spec := plain(t, engine.OfType(sourceType)[0], "spec").(map[string]any)
	if spec["interval"] != "1m" || spec["secretRef"] != nil {
		t.Errorf("the source has interval %v and login %v", spec["interval"], spec["secretRef"])
	}
	if meta := plain(t, engine.Get(t, accountType, "web-account"), "metadata").(map[string]any); meta["annotations"] != nil {
		t.Errorf("the account has %v", meta["annotations"])
	}
}

func TestTheTenantPolicyDescribesTheTeamWithoutSecrets(t *testing.T) {
	engine, args := newEngine(), given()
	args.Policy.Types = []string{"gcp:sql/*", "random:*", "gcp:storage/bucket:Bucket", "gcp:pubsub:Topic", "kubernetes:core/v1:Secret", "random:Pet"}
	args.Policy.Sources = pulumi.ToStringArray([]string{"https://git.example.com/shared.git"})
	args.Policy.RunTimeout, args.Policy.Approval = 20*time.Minute, "always"
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	policy := engine.Get(t, policyType, "web-policy")
	for path, want := range map[string]any{
		"metadata.name": "strata", "metadata.namespace": "team-web", "spec.team": "web", "spec.contact": "the platform team",
		"spec.types":         []any{"gcp:sql/*", "random:*", "gcp:storage/bucket:Bucket", "gcp:pubsub:Topic", "kubernetes:core/v1:Secret", "random:Pet"},
		"spec.typePrefixes":  []any{"gcp:sql/", "gcp:sql:", "random:"},
		"spec.stackAccounts": []any{"web"},
		"spec.sourceUrls":    []any{"https://git.example.com/web.git", "https://git.example.com/shared.git"},
		"spec.runTimeout":    "20m0s",
		"spec.approval":      "always",
		"spec.context":       map[string]any{"name": "strata-context", "backendUrl": "gs://acme-web"},
	} {
		got, isSecret := pulumitest.Plain(t, policy.Inputs, path)
		if !reflect.DeepEqual(got, want) || isSecret {
			t.Errorf("%s is %v (secret: %v), want %v", path, got, isSecret, want)
		}
	}
	names := plain(t, policy, "spec.typeNames").([]any)
	for _, want := range []string{
		"gcp:storage/bucket:Bucket", "gcp:storage:Bucket", "gcp:pubsub:Topic", "gcp:pubsub/topic:Topic", "kubernetes:core/v1:Secret",
		"random:Pet", "random:index:Pet", "random:index/pet:Pet",
	} {
		if !slices.Contains(names, any(want)) {
			t.Errorf("a Program may not write %s: %v", want, names)
		}
	}
}

func TestAWebhookIsCreatedOnRequest(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		engine, args := newEngine(), given()
		args.Source.Webhook = wanted
		if err := run(engine, args); err != nil {
			t.Fatal(err)
		}
		if made := len(engine.OfType(receiverType)); (made == 1) != wanted {
			t.Errorf("%d Receivers, wanted: %v", made, wanted)
		}
	}
}

func TestInvalidHopsAreRejected(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*hop.HopArgs)
		want []string
	}{
		"nothing given": {
			func(a *hop.HopArgs) { *a = hop.HopArgs{} },
			[]string{"namespace must", "account must", "account's roles must", "operator's role must", "source's URL must", "context's backend URL must"},
		},
		"under the account of every pod": {func(a *hop.HopArgs) { a.Account = "default" }, []string{`must not be "default"`}},
		"as the cluster's administrator": {
			func(a *hop.HopArgs) {
				a.Roles, a.Operator.Role = []string{"strata:team", "cluster-admin"}, "cluster-admin"
				a.Approvers.Role = "cluster-admin"
			},
			[]string{"the account must not have role cluster-admin", "the operator must not have role cluster-admin", "an approver must not have role"},
		},
		"with accounts that are none": {
			func(a *hop.HopArgs) {
				a.Accounts = []hop.Account{{Name: "web", Roles: []string{"x"}}, {Name: "default", Roles: []string{"cluster-admin"}}, {}}
			},
			[]string{"account web is given twice", `account default must not be "default"`, "account default must not have role", "account 3's name must", "account 3's roles must"},
		},
		"with amounts and ranges that are none": {
			func(a *hop.HopArgs) {
				a.Quota = pulumi.StringMap{"pods": pulumi.String("many")}
				a.PrivateRanges = pulumi.ToStringArray([]string{"10.0.0.1", "0.0.0.0/0", "10.0.0.0/7"})
			},
			[]string{`the quota of pods is "many"`, `"10.0.0.1" is not`, `"0.0.0.0/0" is not`, `"10.0.0.0/7" is not`},
		},
		"with names that are none": {
			func(a *hop.HopArgs) { a.Namespace, a.Account = "team-web/../x", "web_hr" },
			[]string{`the namespace "team-web/../x" is not a DNS label`, `the account "web_hr" is not a DNS label`},
		},
		"with types that would climb": {
			func(a *hop.HopArgs) { a.Policy.Types = []string{"pulumi:*", "*", "gcp:sql*"} },
			[]string{`"pulumi:*" is refused`, `type "*" is neither`, `type "gcp:sql*" is neither`},
		},
		"with Stacks of somebody else": {
			func(a *hop.HopArgs) { a.Policy.StackAccounts = []string{"web", "root"} }, []string{`StackAccounts contains "root"`},
		},
		"with a time that runs backwards":     {func(a *hop.HopArgs) { a.Policy.RunTimeout = -time.Minute }, []string{"the run timeout -1m0s is negative"}},
		"with half a login":                   {func(a *hop.HopArgs) { a.Source.Username = pulumi.String("web") }, []string{"given together"}},
		"without the passphrase of its state": {func(a *hop.HopArgs) { a.Context.Passphrase = nil }, []string{"the context's passphrase must be given"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := given()
			test.edit(args)
			err := run(newEngine(), args)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
		})
	}
}

func plain(t *testing.T, r pulumitest.Resource, path string) any {
	t.Helper()
	value, _ := pulumitest.Plain(t, r.Inputs, path)
	return value
}

// described returns the rules of a NetworkPolicy in words: the peers and the ports.
func described(rules any, direction string) []string {
	var all []string
	list, _ := rules.([]any)
	for _, each := range list {
		rule := each.(map[string]any)
		var peers, ports []string
		for _, peer := range rule[direction].([]any) {
			peers = append(peers, describedPeer(peer.(map[string]any)))
		}
		list, _ := rule["ports"].([]any)
		for _, each := range list {
			port := each.(map[string]any)
			ports = append(ports, fmt.Sprintf("%v %v", port["protocol"], port["port"]))
		}
		if len(ports) == 0 {
			ports = []string{"all"}
		}
		all = append(all, strings.Join(peers, ", ")+": "+strings.Join(ports, ", "))
	}
	return all
}

func describedPeer(peer map[string]any) string {
	if block, ok := peer["ipBlock"].(map[string]any); ok {
		text := block["cidr"].(string)
		if block["except"] != nil {
			text += fmt.Sprintf(" but %v", block["except"])
		}
		return text
	}
	namespace, ok := peer["namespaceSelector"].(map[string]any)
	if !ok {
		return "own pods"
	}
	text := fmt.Sprintf("namespace %v", namespace["matchLabels"].(map[string]any)["kubernetes.io/metadata.name"])
	if pods, ok := peer["podSelector"].(map[string]any); ok {
		text += fmt.Sprintf(" with app=%v", pods["matchLabels"].(map[string]any)["app"])
	}
	return text
}
