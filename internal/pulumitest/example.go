package pulumitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Print runs a program as the stack dev of the project example, and prints its outputs, one in each line. It prints [secret]
// in place of a secret. Resources have the outputs that Google Cloud and Kubernetes would give them. It serves the examples
// of components: a program of your own calls pulumi.Run.
func Print(program pulumi.RunFunc) {
	engine := &Engine{Outputs: answers(), Invoked: map[string]resource.PropertyMap{
		"gcp:sql/getDatabaseInstance:getDatabaseInstance": instance("strata"),
	}}
	if err := engine.Run("example", "dev", program); err != nil {
		fmt.Println("error:", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(engine.outputs)) {
		output := engine.outputs[name]
		text, plain := output.Value.(string)
		if !plain {
			content, err := json.Marshal(output.Value)
			if err != nil {
				fmt.Println("error:", err)
				return
			}
			text = string(content)
		}
		if output.Secret {
			text = "[secret]"
		}
		fmt.Printf("%s: %s\n", name, text)
	}
}

// answers returns the outputs of resources beyond their inputs.
func answers() map[string]func(pulumi.MockResourceArgs) resource.PropertyMap {
	text := func(args pulumi.MockResourceArgs, key string) string {
		return args.Inputs[resource.PropertyKey(key)].StringValue()
	}
	return map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		"gcp:serviceaccount/account:Account": func(args pulumi.MockResourceArgs) resource.PropertyMap {
			email := text(args, "accountId") + "@" + text(args, "project") + ".iam.gserviceaccount.com"
			return resource.PropertyMap{"email": resource.NewProperty(email)}
		},
		"gcp:serviceaccount/key:Key": func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"privateKey": resource.NewProperty("e30=")}
		},
		"gcp:container/cluster:Cluster": func(args pulumi.MockResourceArgs) resource.PropertyMap {
			auth := args.Inputs["masterAuth"].ObjectValue().Copy()
			auth["clusterCaCertificate"] = resource.NewProperty("Y2E=")
			return resource.PropertyMap{"endpoint": resource.NewProperty("203.0.113.7"), "masterAuth": resource.NewProperty(auth)}
		},
		"gcp:sql/databaseInstance:DatabaseInstance": func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return instance(text(args, "name"))
		},
		"gcp:storage/bucket:Bucket": func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"url": resource.NewProperty("gs://" + text(args, "name"))}
		},
		"kubernetes:pulumi.com/v1:Stack": func(pulumi.MockResourceArgs) resource.PropertyMap {
			outputs := resource.NewPropertyMapFromMap(map[string]any{"outputs": map[string]any{"text": "hello, world"}})
			return resource.PropertyMap{"status": resource.NewProperty(outputs)}
		},
		"random:index/randomPassword:RandomPassword": func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"result": resource.MakeSecret(resource.NewProperty("a random password"))}
		},
	}
}

// instance returns the outputs of a Cloud SQL instance.
func instance(name string) resource.PropertyMap {
	return resource.PropertyMap{
		"firstIpAddress": resource.NewProperty("203.0.113.8"),
		"connectionName": resource.NewProperty("acme-dev:europe-west1:" + name),
	}
}
