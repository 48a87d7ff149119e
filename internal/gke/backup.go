package gke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/gke/buckets"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/teams"
)

var _ content.Source = (*Platform)(nil)

// Backup implements [content.Source]. It reads the states of the layers with the engineer's pulumi, the states of the Stacks from the
// buckets of layer 1, the teams' repositories from their hosts, and the Secrets of people from the cluster. The secrets of the states and
// of the settings are in plain text in the backup, which is encrypted: the keys of Cloud KMS do not leave Google Cloud.
func (p *Platform) Backup(ctx context.Context, show *progress.Reporter, file string, keys backup.Keys) (content.Saved, error) {
	what := p.About().Place
	file, err := filepath.Abs(file)
	if err != nil {
		return content.Saved{}, err
	}
	recipients, err := keys.ForWriting()
	if err != nil {
		return content.Saved{}, err
	}
	f, findings := p.check(ctx)
	for _, found := range findings {
		if !found.Note {
			return content.Saved{}, fmt.Errorf("back up %s: %s: %s: %s", what, found.Check, found.Found, found.Remedy)
		}
	}
	return content.Save(ctx, show, file, content.Platform{
		What: what, Home: p.Root, Cloud: "projects/" + f.bootstrap.Project,
		Collect: func(ctx context.Context, show *progress.Reporter, temporary string) (*content.Collection, error) {
			c := &collector{Collection: content.Collection{Target: content.GKE, Environment: p.Environment}, platform: p, facts: f, temporary: temporary, show: show}
			return &c.Collection, c.collect(ctx)
		},
	}, recipients...)
}

// collector collects the content of a backup.
type collector struct {
	content.Collection
	platform  *Platform
	facts     facts
	temporary string
	show      *progress.Reporter
}

func (c *collector) collect(ctx context.Context) error {
	root, err := os.OpenRoot(c.platform.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		c.show.Detail("the state of layer %s", layer)
		if err := c.addLayer(ctx, root, layer); err != nil {
			return fmt.Errorf("layer %s: %w", layer, err)
		}
	}
	if err := c.addStacks(ctx); err != nil {
		return err
	}
	if err := c.addRepositories(ctx); err != nil {
		return err
	}
	return c.addSecrets(ctx)
}

// addLayer adds the state and the settings of a layer's stack.
func (c *collector) addLayer(ctx context.Context, root *os.Root, name string) error {
	project, err := lifecycle.ProjectOf(name)
	if err != nil {
		return err
	}
	state, err := c.platform.runPulumi(ctx, name, "stack", "export", "--show-secrets")
	if err != nil {
		return err
	}
	var exported struct {
		Deployment struct {
			Resources []json.RawMessage `json:"resources"`
			Pending   []json.RawMessage `json:"pending_operations"`
		} `json:"deployment"`
	}
	if err := json.Unmarshal([]byte(state), &exported); err != nil {
		return errors.New("pulumi exports no state")
	}
	if len(exported.Deployment.Resources) == 0 {
		return fmt.Errorf("its stack has no resources: run `%s` first", c.platform.strataLine("up"))
	}
	if len(exported.Deployment.Pending) > 0 {
		return fmt.Errorf("a run of it is not finished, or was killed: wait for it, or run `%s`", c.platform.strataLine("layer up "+name))
	}
	c.Put(content.LayerState(project.Name, c.Environment), []byte(state))
	c.States++
	settings, err := c.platform.runPulumi(ctx, name, "config", "--json", "--show-secrets")
	if err != nil {
		return err
	}
	c.Put(content.LayerFolder(name)+"/"+content.SettingsFile, []byte(settings))
	// The file itself is in the clone only, if nobody has committed it.
	folder, err := c.platform.folder(name)
	if err != nil {
		return err
	}
	file := "Pulumi." + c.Environment + ".yaml"
	raw, err := root.ReadFile(filepath.Join(folder, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		c.Put(content.LayerFolder(name)+"/"+file, raw)
	}
	return err
}

// addStacks adds the states of the Stacks of each team in the outputs of layer 1.
func (c *collector) addStacks(ctx context.Context) error {
	outputs, err := c.platform.outputs(ctx)
	if err != nil {
		return err
	}
	tenants, _ := outputs[handoff.OutputTenants].Value.(map[string]any)
	client, err := buckets.New(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(tenants)) {
		fields, _ := tenants[name].(map[string]any)
		text := func(field string) string {
			value, _ := fields[field].(string)
			return value
		}
		c.show.Detail("the states of team %s", name)
		bucket, ok := strings.CutPrefix(text("backend"), "gs://")
		if !ok {
			c.Leave("the states of team %s: their backend %q is no bucket of Google Cloud: back it up with the tools of its provider", name, text("backend"))
			continue
		}
		namespace := teams.Team{Name: name}.Namespace()
		folder := filepath.Join(c.temporary, namespace)
		left, err := client.Copy(ctx, bucket, folder, content.MaxTeamStates, content.MaxStates)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.Leave("the states of team %s: %v", name, err)
			continue
		}
		for _, each := range left {
			c.Leave("%s of team %s", each, name)
		}
		err = c.AddStates(ctx, folder, content.TeamStates+"/"+namespace, content.MaxStates, func(state []byte) ([]byte, error) {
			return client.Decrypt(ctx, state, text("secretsProvider"))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addSecrets adds the Secrets that people have created in the teams' namespaces.
func (c *collector) addSecrets(ctx context.Context) error {
	config, err := c.platform.Config(ctx, false)
	if err != nil {
		return err
	}
	if config == nil {
		return nil // Without a cluster there are none.
	}
	if err := answers(config); err != nil {
		c.Leave("the Secrets that people have created in the teams' namespaces: the cluster does not answer: %v", err)
		return nil
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	list, err := c.platform.Teams()
	if err != nil {
		return err
	}
	var namespaces []string
	for _, team := range list {
		namespaces = append(namespaces, team.Namespace())
	}
	raw, count, err := content.Secrets(ctx, client, namespaces)
	c.AddSecrets(raw, count)
	return err
}
