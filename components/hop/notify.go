package hop

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// notificationVersion is the version of Flux's kinds Provider and Alert.
const notificationVersion = "notification.toolkit.fluxcd.io/v1beta3"

// Notify puts the results of a team's plans on the commits in a forge.
//
// NewHop creates the Secret with the token, the Provider and the Alert in Flux's namespace: the team reads every Secret of its own one.
// Flux refuses Alerts about objects of another namespace (--no-cross-namespace-refs), so the Alert is about a Kustomization of Flux's
// namespace that does not exist. Flux looks the object of an event up only if an Alert selects labels. The operator sends
// notification-controller events about this Kustomization; its name is in the TenantPolicy.
type Notify struct {
	// Provider is the type of Flux's Provider: github, gitlab or gitea. Required.
	Provider string
	// Repository is the address of the repository, beginning with https://. Required.
	Repository pulumi.StringInput
	// Token may write statuses of the repository's commits. Required.
	Token pulumi.StringInput
	// Status begins the names of the statuses. No other team has statuses of this name, even in the same repository. Required: letters,
	// digits and ._/-
	Status string
	// Proxy is the proxy, beginning with http://, https:// or socks5://, that Flux connects to the forge through; nil means none.
	Proxy pulumi.StringInput
}

// NotifyName returns the name of the Alert for the team with this account, in Flux's namespace, and of the other objects with it.
func NotifyName(account string) string { return "plans-" + account }

// statusName matches texts that stand for themselves in a string of CEL.
var statusName = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,100}$`)

// notify creates the objects by which Flux puts the results of plans on commits.
func (b *builder) notify() error {
	given := b.args.Notify
	if given == nil {
		return nil
	}
	meta := func(suffix string) *metav1.ObjectMetaArgs {
		return &metav1.ObjectMetaArgs{
			Name: pulumi.String(NotifyName(b.args.Account) + suffix), Namespace: pulumi.String(fluxcd.Namespace), Labels: component.Labels(),
			// None of the objects owns another one, so a deletion has no dependents to wait for.
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
		}
	}
	secret := func(suffix, key string, value pulumi.StringInput) (*corev1.Secret, error) {
		return corev1.NewSecret(b.ctx, b.name+"-notify"+suffix, &corev1.SecretArgs{
			Metadata: meta(suffix), StringData: pulumi.StringMap{key: pulumi.ToSecret(value.ToStringOutput()).(pulumi.StringOutput)},
		}, b.child()...)
	}
	token, err := secret("", "token", given.Token)
	if err != nil {
		return err
	}
	spec := pulumi.Map{
		"type": pulumi.String(given.Provider), "address": given.Repository, "secretRef": pulumi.Map{"name": token.Metadata.Name().Elem()},
		// Without an expression, the name of a status is that of the Kustomization and of the Provider's UID. The results of plans of
		// two Kustomizations must not overwrite each other.
		"commitStatusExpr": pulumi.String(fmt.Sprintf("'%s' + (has(event.metadata.sync) ? '/' + event.metadata.sync : '')", given.Status)),
	}
	if !inputs.Missing(given.Proxy) {
		proxy, err := secret(".proxy", "address", given.Proxy)
		if err != nil {
			return err
		}
		spec["proxySecretRef"] = pulumi.Map{"name": proxy.Metadata.Name().Elem()}
	}
	object := func(kind string, spec pulumi.Map) (*apiextensions.CustomResource, error) {
		return apiextensions.NewCustomResource(b.ctx, b.name+"-"+strings.ToLower(kind), &apiextensions.CustomResourceArgs{
			ApiVersion: pulumi.String(notificationVersion), Kind: pulumi.String(kind), Metadata: meta(""),
			OtherFields: kubernetes.UntypedArgs{"spec": spec},
		}, b.child()...)
	}
	provider, err := object("Provider", spec)
	if err != nil {
		return err
	}
	_, err = object("Alert", pulumi.Map{
		"providerRef":   pulumi.Map{"name": provider.Metadata.Name().Elem()},
		"eventSeverity": pulumi.String("info"),
		"eventSources":  pulumi.Array{pulumi.Map{"kind": pulumi.String("Kustomization"), "name": pulumi.String(NotifyName(b.args.Account))}},
	})
	return err
}

func (a *HopArgs) notifyProblems() []string {
	given := a.Notify
	if given == nil {
		return nil
	}
	var problems []string
	if given.Provider == "" || inputs.Missing(given.Repository) || inputs.Missing(given.Token) {
		problems = append(problems, "notify's provider, repository and token must be given")
	}
	if address := inputs.Text(given.Repository); address != "" && !strings.HasPrefix(address, "https://") {
		problems = append(problems, "notify's repository must begin with https://: Flux sends the token there")
	}
	if !statusName.MatchString(given.Status) {
		problems = append(problems, fmt.Sprintf("notify's status %q must be 1 to 100 letters, digits and ._/-", given.Status))
	}
	if a.Policy == nil {
		problems = append(problems, "notify needs a policy, in which the operator finds it")
	}
	return problems
}
