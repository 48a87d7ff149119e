// Package example contains a program that installs Flux on a cluster and lets a team deploy from a repository of its own.
// A test runs the program: up, up again without any change, destroy.
package example

import (
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
)

// Config is the configuration of the program.
type Config struct {
	// Kubeconfig is the kubeconfig of an administrator of the cluster.
	Kubeconfig string
	// Fleet is the repository that Flux keeps its own manifests in. Team is the team's repository.
	Fleet, Team Repository
	// Components are the controllers of Flux to install; nil means all.
	Components []string
}

// Repository is a Git repository over HTTP, with credentials that may read it. Those of the fleet may also write.
type Repository struct{ URL, Username, Password string }

// Program installs Flux and creates the namespace team-web with an account that may edit in it. Flux applies the folder
// deploy of the team's repository under that account. Flux applies a push at once if the Git server calls the URL in the
// output "webhook" and signs the call with the output "token".
func Program(config Config) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		kubeconfig := pulumi.ToSecret(pulumi.String(config.Kubeconfig)).(pulumi.StringOutput)
		cluster, err := kubernetes.NewProvider(ctx, "cluster", &kubernetes.ProviderArgs{
			Kubeconfig: kubeconfig, ClusterIdentifier: pulumi.String("example"), EnableSecretMutable: pulumi.Bool(true),
		})
		if err != nil {
			return err
		}
		args := &fluxcd.FluxArgs{
			GitURL:      pulumi.String(config.Fleet.URL),
			GitUsername: pulumi.String(config.Fleet.Username),
			GitPassword: pulumi.String(config.Fleet.Password),
			Path:        pulumi.String("clusters/example"),
			Interval:    pulumi.String("1s"),
			Kubeconfig:  kubeconfig,
		}
		if config.Components != nil {
			args.Components = pulumi.ToStringArray(config.Components)
		}
		flux, err := fluxcd.NewFlux(ctx, "flux", args, pulumi.Provider(cluster))
		if err != nil {
			return err
		}
		rights, err := team(ctx, pulumi.Provider(cluster))
		if err != nil {
			return err
		}
		after := pulumi.DependsOn(append(flux.Resources(), rights))
		source, err := fluxcd.NewSource(ctx, "web-source", &fluxcd.SourceArgs{
			Namespace: pulumi.String("team-web"),
			Name:      pulumi.String("web"),
			Interval:  pulumi.String("1s"),
			Origin: fluxcd.Git{
				URL:      pulumi.String(config.Team.URL),
				Username: pulumi.String(config.Team.Username),
				Password: pulumi.String(config.Team.Password),
			},
		}, pulumi.Provider(cluster), after)
		if err != nil {
			return err
		}
		if _, err := fluxcd.NewSync(ctx, "web-sync", &fluxcd.SyncArgs{
			Namespace:       pulumi.String("team-web"),
			Name:            pulumi.String("web"),
			Source:          source,
			Path:            pulumi.String("deploy"),
			ServiceAccount:  pulumi.String("web"),
			TargetNamespace: pulumi.String("team-web"),
			Wait:            true,
			Timeout:         pulumi.String("2m"),
		}, pulumi.Provider(cluster), after); err != nil {
			return err
		}
		receiver, err := fluxcd.NewReceiver(ctx, "web-receiver", &fluxcd.ReceiverArgs{
			Namespace: pulumi.String("team-web"),
			Name:      pulumi.String("web"),
			Sources:   []*fluxcd.Source{source},
		}, pulumi.Provider(cluster), after)
		if err != nil {
			return err
		}
		ctx.Export("webhook", receiver.Path)
		ctx.Export("token", receiver.Token)
		return nil
	}
}

// team creates the team's namespace and its account. It returns a resource that must outlive the team's sync.
func team(ctx *pulumi.Context, provider pulumi.ResourceOption) (pulumi.Resource, error) {
	namespace, err := corev1.NewNamespace(ctx, "team", &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String("team-web")},
	}, provider)
	if err != nil {
		return nil, err
	}
	named := &metav1.ObjectMetaArgs{Namespace: namespace.Metadata.Name(), Name: pulumi.String("web")}
	account, err := corev1.NewServiceAccount(ctx, "account", &corev1.ServiceAccountArgs{Metadata: named}, provider)
	if err != nil {
		return nil, err
	}
	return rbacv1.NewRoleBinding(ctx, "rights", &rbacv1.RoleBindingArgs{
		Metadata: named,
		RoleRef:  rbacv1.RoleRefArgs{ApiGroup: pulumi.String("rbac.authorization.k8s.io"), Kind: pulumi.String("ClusterRole"), Name: pulumi.String("edit")},
		Subjects: rbacv1.SubjectArray{rbacv1.SubjectArgs{
			Kind: pulumi.String("ServiceAccount"), Name: account.Metadata.Name().Elem(), Namespace: account.Metadata.Namespace(),
		}},
	}, provider)
}
