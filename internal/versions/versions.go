// Package versions reads the versions of a platform's parts from the states of its layers and from its cluster.
package versions

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/platform"
)

const (
	// versionLabel is the label of Flux's objects with the version of Flux.
	versionLabel = "app.kubernetes.io/version"
	// controllers selects the Deployments of Flux among those of its namespace.
	controllers = "app.kubernetes.io/part-of=flux," + versionLabel
)

// Status returns the status of a platform with the skew of its versions.
func Status(ctx context.Context, p *lifecycle.Platform) (status.Report, error) {
	report, err := p.Status(ctx)
	if err != nil {
		return report, err
	}
	return report.WithSkew(Skew(ctx, p)), nil
}

// Skew returns the skew of a platform's versions. It starts nothing. Versions that cannot be read are a warning: the status says what
// is broken.
func Skew(ctx context.Context, p *lifecycle.Platform) []status.Skew {
	facts, err := Facts(ctx, p)
	return check(ctx, p, facts, err)
}

// SkewOfCluster is Skew for a platform that may not exist: it returns nothing unless the cluster answers.
func SkewOfCluster(ctx context.Context, p *lifecycle.Platform) []status.Skew {
	facts, err := Facts(ctx, p)
	if facts.Cluster == nil {
		return nil
	}
	return check(ctx, p, facts, err)
}

// check returns the skew of versions that were read, and a warning if err is not nil.
func check(ctx context.Context, p *lifecycle.Platform, facts skew.Facts, err error) []status.Skew {
	found := skew.Check(facts)
	if err != nil && ctx.Err() == nil {
		found = append(found, status.Skew{Part: "versions", Found: fmt.Sprintf("they are not known: %v", err), Remedy: "`" + p.About().Call("status") + "` tries again"})
	}
	return found
}

// Facts reads the versions of a platform. With an error, it returns those that it has read.
func Facts(ctx context.Context, p *lifecycle.Platform) (skew.Facts, error) {
	facts := skew.Facts{Call: p.About().Call}
	var err error
	if facts.Offered, err = p.Offered(ctx); err != nil {
		return facts, err
	}
	facts.Begun.To, facts.Begun.Step, _ = p.Journal().UpgradeBegun()
	for _, name := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		if !p.Made(name) {
			continue
		}
		state, err := p.State(ctx, name)
		if err != nil {
			return facts, fmt.Errorf("layer %s: %w", name, err)
		}
		facts.Layers = append(facts.Layers, layerOf(name, state))
	}
	_, config, err := p.Below(ctx)
	if err != nil || config == nil {
		return facts, err
	}
	facts.Cluster, err = Cluster(ctx, config, facts.Offered)
	return facts, err
}

// providers begins the types of providers in a state.
const providers = "pulumi:providers:"

// layerOf reads the versions in the state of a layer.
func layerOf(name string, state apitype.DeploymentV3) skew.Layer {
	layer := skew.Layer{Name: name, Plugins: map[string]string{}}
	if version := state.Manifest.Version; version != "" {
		layer.Pulumi = "v" + strings.TrimPrefix(version, "v")
	}
	for _, resource := range state.Resources {
		if plugin, is := strings.CutPrefix(string(resource.Type), providers); is && !resource.Delete {
			if version, _ := resource.Inputs["version"].(string); version != "" {
				layer.Plugins[plugin] = version
			}
		}
		if resource.Type == "pulumi:pulumi:Stack" {
			layer.Strata, _ = resource.Outputs[handoff.OutputStrata].(string)
			layer.Flux, _ = resource.Outputs[platform.OutputFluxVersion].(string)
		}
	}
	return layer
}

// upstreamSource is the name of the source of upstream's kinds (sync/clusters/gke/operator.yaml).
const upstreamSource = "pulumi-operator"

// Cluster reads the versions in a cluster. Objects that do not exist have no versions.
func Cluster(ctx context.Context, config *rest.Config, offered skew.Offered) (*skew.Cluster, error) {
	config = lifecycle.Brief(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster for its versions: %w", err)
	}
	found := &skew.Cluster{Controllers: map[string]string{}}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("read the version of the cluster: %w", err)
	}
	found.Kubernetes = version.GitVersion
	deployments, err := client.AppsV1().Deployments(fluxcd.Namespace).List(ctx, metav1.ListOptions{LabelSelector: controllers})
	if err != nil {
		return nil, fmt.Errorf("read the versions of Flux's controllers: %w", err)
	}
	for _, each := range deployments.Items {
		found.Controllers[each.Name] = each.Labels[versionLabel]
	}
	operator, err := client.AppsV1().Deployments(platform.OperatorNamespace).Get(ctx, platform.OperatorAccount, metav1.GetOptions{})
	if err == nil && len(operator.Spec.Template.Spec.Containers) > 0 {
		found.Operator.Tag = tag(operator.Spec.Template.Spec.Containers[0].Image)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the version of the operator: %w", err)
	}
	// The kinds come before the operator, so they may exist without it.
	if offered.Operator.Commit != "" {
		found.Operator.Commit, err = commit(ctx, config)
	} else {
		found.Kinds, err = breaking.Kinds(ctx, config, offered.Definitions)
	}
	return found, err
}

// commit returns the commit of upstream's kinds; empty if Flux has no such source.
func commit(ctx context.Context, config *rest.Config) (string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("connect to the cluster for its versions: %w", err)
	}
	sources := schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	source, err := client.Resource(sources).Namespace(platform.PlatformNamespace).Get(ctx, upstreamSource, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the commit of the operator's kinds: %w", err)
	}
	value, _, _ := unstructured.NestedString(source.Object, "spec", "ref", "commit")
	return value, nil
}

// tag returns the tag of an image, without its digest.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, name, found := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !found {
		return ""
	}
	return name
}
