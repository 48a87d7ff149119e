package stack_test

import (
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/strata-platform/strata/components/stack"
	"github.com/strata-platform/strata/internal/pulumitest"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// A Stack with a Program written in Go. Its backend and passphrase never appear in the Stack itself.
func Example() {
	pulumitest.Print(greeting("hello", "gs://acme-dev-strata-web", ""))
	// Output:
	// outputs: {"text":"hello, world"}
}

// greeting connects to the cluster by a kubeconfig; empty means the one in the environment.
func greeting(word, backend, kubeconfig string) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		args := &kubernetes.ProviderArgs{ClusterIdentifier: pulumi.String("strata")}
		if kubeconfig != "" {
			args.Kubeconfig = pulumi.String(kubeconfig)
		}
		cluster, err := kubernetes.NewProvider(ctx, "cluster", args)
		if err != nil {
			return err
		}
		made, err := stack.NewStack(ctx, "greeting", &stack.StackArgs{
			Namespace: pulumi.String("team-web"),
			Name:      pulumi.String("greeting"),
			Spec:      pulumiv1.StackSpec{Stack: "dev", ServiceAccountName: "web", DestroyOnFinalize: true},
			Program: &pulumiv1.ProgramSpec{
				Configuration: map[string]pulumiv1.Configuration{"addressee": {Type: "String"}},
				Resources: map[string]pulumiv1.Resource{"kept": {
					Type:       "pulumi:index:Stash",
					Properties: map[string]pulumiv1.Expression{"input": {Raw: []byte(`"` + word + `, ${addressee}"`)}},
				}},
				Outputs: map[string]apiextensionsv1.JSON{"text": {Raw: []byte(`"${kept.input}"`)}},
			},
			Config: pulumi.Map{"addressee": pulumi.String("world")},
			SecretEnv: pulumi.StringMap{
				"PULUMI_BACKEND_URL": pulumi.String(backend), "PULUMI_CONFIG_PASSPHRASE": pulumi.String("canary-passphrase"),
			},
			Timeout: "1m",
		}, pulumi.Provider(cluster))
		if err != nil {
			return err
		}
		ctx.Export("outputs", made.Outputs)
		return nil
	}
}
