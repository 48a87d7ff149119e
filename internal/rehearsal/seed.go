package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/kubeconfig"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/replay"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/teams"
)

// atOnce is how many Stacks are created again at the same time.
const atOnce = 3

// seedFirst creates the resources of layer 1: the emulated Google Cloud and the cluster.
func (r *run) seedFirst(ctx context.Context, show *progress.Reporter) (string, error) {
	return r.seedLayer(ctx, show, lifecycle.BootstrapLayer, r.first)
}

// seedSecond creates the resources of layer 2, and suspends the syncs of the teams, whose repositories do not exist yet.
func (r *run) seedSecond(ctx context.Context, show *progress.Reporter) (string, error) {
	project, err := lifecycle.ProjectOf(lifecycle.PlatformLayer)
	if err != nil {
		return "", err
	}
	state, err := r.state(ctx, project.Name, r.content.LayerState(project.Name), r.content.Secret("passphrase"))
	if err != nil {
		return "", err
	}
	if r.google != nil {
		if err := r.mapControlPlane(ctx); err != nil {
			return "", err
		}
	}
	text, err := r.seedLayer(ctx, show, lifecycle.PlatformLayer, state)
	if err != nil {
		return "", err
	}
	return text, r.suspend(ctx, true)
}

// seedLayer runs the resources of a layer's state as the program of the layer.
func (r *run) seedLayer(ctx context.Context, show *progress.Reporter, layer string, state *replay.State) (string, error) {
	run, release, err := r.platform.Hold(ctx, layer)
	if err != nil {
		return "", err
	}
	defer release()
	l := run.Layer
	l.Program, l.Executable = state.Program(&r.words), ""
	summary, err := run.Runner.Up(ctx, l, detail(show))
	return summary.String(), err
}

// detail returns a Progress that shows the current operation.
func detail(show *progress.Reporter) layers.Progress {
	return func(operation, resource string) { show.Detail("%s %s", operation, resource) }
}

// createSecrets creates the Secrets that people have created in the teams' namespaces, with placeholders as their values.
func (r *run) createSecrets(ctx context.Context) error {
	raw := r.content.Secret(content.SecretsFile)
	if raw == "" {
		return nil
	}
	var all []corev1.Secret
	if err := json.Unmarshal([]byte(raw), &all); err != nil {
		return fmt.Errorf("read the Secrets of the backup: %w", err)
	}
	var namespaces []string
	for i := range all {
		namespaces = append(namespaces, all[i].Namespace)
		for key, value := range all[i].Data {
			all[i].Data[key] = []byte(r.hide(all[i].Type, string(value)))
		}
	}
	hidden, err := json.Marshal(all)
	if err != nil {
		return err
	}
	config, err := r.platform.Config(ctx, false)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return content.CreateSecrets(ctx, client, namespaces, hidden)
}

// hide returns the value of a person's Secret in the copy: what the states of the copy have in the place of a secret value. The cluster
// accepts only JSON as the credentials of a registry.
func (r *run) hide(kind corev1.SecretType, value string) string {
	if kind == corev1.SecretTypeDockerConfigJson || kind == corev1.SecretTypeDockercfg {
		return "{}"
	}
	hidden := r.words.Map(resource.PropertyMap{"": resource.MakeSecret(resource.NewProperty(value))})[""]
	return hidden.SecretValue().Element.StringValue()
}

// seedStacks creates the resources of the Stacks, each as the identity of its team.
func (r *run) seedStacks(ctx context.Context, _ *progress.Reporter) (string, error) {
	outputs, err := r.life.LayerOutputs(ctx, lifecycle.BootstrapLayer, true)
	if err != nil {
		return "", err
	}
	contexts, _ := outputs[handoff.OutputTenants].(map[string]any)
	audience, _ := outputs[handoff.OutputAudience].(string)
	list, err := r.platform.Tenants()
	if err != nil {
		return "", err
	}
	byNamespace := map[string]teams.Team{}
	for _, team := range list {
		byNamespace[team.Namespace()] = team
	}
	running, err := r.platform.Supervisor().Status(ctx)
	if err != nil {
		return "", err
	}
	var created atomic.Int64
	var mu sync.Mutex
	var failed []Part
	parent := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, each := range r.content.StackStates() {
		team, ok := byNamespace[each.Namespace]
		own, _ := contexts[team.Name].(map[string]any)
		if !ok || own == nil {
			r.result.Left = append(r.result.Left, fmt.Sprintf("the state %s/%s of namespace %s: teams.yaml has no such team", each.Project, each.Stack, each.Namespace))
			continue
		}
		group.Go(func() error {
			former := r.first.Output(handoff.OutputTenants, team.Name, "passphrase")
			count, err := r.seedStack(ctx, team, each, former, own, audience, running.GoogleURL)
			created.Add(int64(count))
			if err != nil && ctx.Err() == nil {
				// The state of one team must not end the rehearsal of all.
				mu.Lock()
				failed = append(failed, Part{Layer: "team", Namespace: each.Namespace, Stack: plan.Stack{
					Name: each.Stack, Failed: true, Message: planned.Clean("its resources cannot be created again: "+err.Error(), planned.LongestMessage),
				}})
				mu.Unlock()
				err = nil
			}
			return err
		})
	}
	err = group.Wait()
	for _, part := range failed {
		r.add(part)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d created", created.Load()), r.createSecrets(parent)
}

// stackLimit limits the creation of a Stack's resources.
const stackLimit = 2 * time.Minute

// seedStack runs the resources of a Stack's state as a program. The runs of the team can write the state, so the program has the team's
// rights in the cluster and in the cloud, and its plugins run no command of the team's choice.
func (r *run) seedStack(
	ctx context.Context, team teams.Team, of content.State, former string, own map[string]any, audience, googleURL string,
) (int, error) {
	state, err := r.state(ctx, of.Project, of.Content, former)
	if err == nil {
		err = state.CheckForeign("gcp", "kubernetes", "random")
	}
	if err != nil || len(state.Resources) == 0 {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, stackLimit)
	defer cancel()
	h := r.platform.Home
	kubeconfig, err := kubeconfig.Team(ctx, h, team)
	if err != nil {
		return 0, err
	}
	text := func(name string) string {
		value, _ := own[name].(string)
		return value
	}
	folder := filepath.Join(h.TenantState(of.Namespace), filepath.FromSlash(of.Folder))
	backend := "file://" + folder + "?metadata=skip"
	if bucket := text("backend"); strings.HasPrefix(bucket, "gs://") {
		backend = bucket
	}
	work := filepath.Join(h.Layers(), "rehearsal", of.Namespace, of.Folder, of.Project, of.Stack)
	tmp := filepath.Join(work, "tmp")
	for _, dir := range []string{folder, tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return 0, err
		}
	}
	credentials, err := r.credentials(ctx, team, text("credentials"), keyless.Identity{Account: text("account"), Audience: audience}, work)
	if err != nil {
		return 0, err
	}
	command, err := r.pulumi()
	if err != nil {
		return 0, err
	}
	env := pulumienv.Variables(h, googleURL)
	// Pulumi's backend in a bucket knows no endpoint but Google's.
	maps.Copy(env, cloud.TunnelVariables(googleURL, h.Certificates()))
	maps.Copy(env, map[string]string{
		"PULUMI_BACKEND_URL": backend, "PULUMI_CONFIG_PASSPHRASE": text("passphrase"), "PULUMI_HOME": filepath.Join(work, "pulumi"),
		"HOME": work, "TMPDIR": tmp, "KUBECONFIG": kubeconfig,
		"GOOGLE_CREDENTIALS": credentials, "GOOGLE_PROJECT": h.Project(), "GOOGLE_REGION": home.Region,
	})
	runner := layers.Runner{Stack: of.Stack, Pulumi: func() (auto.PulumiCommand, error) { return command, nil }, Env: env, WorkDir: func(string) string { return work }}
	summary, err := runner.Up(ctx, layers.Layer{Name: of.Stack, Project: of.Project, Program: state.Program(&r.words), Config: state.Config("gcp:project", "gcp:region", "gcp:zone")}, nil)
	return summary.Changes["create"], err
}

// pulumi returns the pulumi command of the home.
func (r *run) pulumi() (auto.PulumiCommand, error) {
	return layers.Pinned(r.platform.Home.ToolsRoot(), r.platform.Toolchain.Version("pulumi"))()
}
