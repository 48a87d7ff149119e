package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/cloudclient"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/repositories"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
)

// onGoogle holds the settings of a platform on Google Cloud. The copy has the same settings, except for what names a place: the
// repositories, their logins, and the image of the operator.
type onGoogle struct {
	first  bootstrap.Config
	second platform.Config
}

// readSettings reads the settings of a platform on Google Cloud.
func (r *run) readSettings() error {
	google := &onGoogle{}
	for _, each := range []struct {
		layer, project string
		config         any
	}{
		{lifecycle.BootstrapLayer, bootstrap.Project, &google.first}, {lifecycle.PlatformLayer, platform.Project, &google.second},
	} {
		problems, err := settings.ReadJSON(r.content.Settings(each.layer), each.project, each.config)
		if err == nil && len(problems) > 0 {
			err = errors.New(strings.Join(problems, "; "))
		}
		if err != nil {
			return fmt.Errorf("rehearse %s: the settings of layer %s: %w", r.File, each.layer, err)
		}
	}
	if google.second.Operator == operators.Upstream {
		return fmt.Errorf("rehearse %s: upstream's operator runs its Stacks, in pods that this machine does not have: the rehearsal is for the embedded operator", r.File)
	}
	if own, err := platform.NewConfig(); err == nil && google.second.FluxVersion != own.FluxVersion {
		r.result.Left = append(r.result.Left, fmt.Sprintf("the setting fluxVersion: %s: the copy has %s", google.second.FluxVersion, own.FluxVersion))
		google.second.FluxVersion = own.FluxVersion
	}
	r.google = google
	return nil
}

// source returns the source of the platform's repository in the home; empty means the default.
func (r *run) source() string {
	switch {
	case r.google == nil:
		return r.content.Source()
	case strings.HasPrefix(r.google.second.PlatformURL, "oci://"):
		return home.OCISource
	}
	return home.GitSource
}

// description describes the home.
func (r *run) description() (home.Rehearsal, error) {
	if r.google == nil {
		return home.Rehearsal{}, nil
	}
	made := home.Rehearsal{Project: r.google.first.Project, AnyUser: true}
	if r.google.second.PlatformPassword == "" {
		made.Public = append(made.Public, repositories.Platform)
	}
	if r.google.second.StrataPassword == "" {
		made.Public = append(made.Public, repositories.Strata)
	}
	list, err := r.platform.Teams()
	for _, team := range list {
		if r.google.second.TeamCredentials[team.Name].Password == "" {
			made.Public = append(made.Public, team.Name)
		}
	}
	return made, err
}

// ensureKeys creates the keys of Cloud KMS that the settings name: no layer creates one.
func (r *run) ensureKeys(ctx context.Context, running supervisor.Status) error {
	if r.google == nil {
		return nil
	}
	h := r.platform.Home
	client := cloudclient.Client{URL: running.GoogleURL, Credentials: h.EngineerCredentials(), Project: h.Project()}
	list, err := r.platform.Tenants()
	if err != nil {
		return err
	}
	names := []string{r.google.first.SecretsKey}
	for _, team := range list {
		names = append(names, strings.TrimPrefix(strings.ReplaceAll(r.google.first.TenantSecretsProvider, bootstrap.TeamPlaceholder, team.Name), "gcpkms://"))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		if err := client.EnsureKey(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// reconfigure returns the settings of a layer in the copy. own are those of the home.
func (r *run) reconfigure(layer string, own auto.ConfigMap) (auto.ConfigMap, error) {
	if layer == lifecycle.BootstrapLayer {
		var mine bootstrap.Config
		if err := readOwn(own, bootstrap.Project, &mine); err != nil {
			return nil, err
		}
		made := r.google.first
		made.TeamsFile = mine.TeamsFile
		return made.ConfigMap()
	}
	var mine platform.Config
	if err := readOwn(own, platform.Project, &mine); err != nil {
		return nil, err
	}
	made, err := r.placed(mine)
	if err != nil {
		return nil, err
	}
	return made.ConfigMap()
}

// readOwn reads the settings of the home.
func readOwn(own auto.ConfigMap, project string, config any) error {
	problems := settings.Read(func(key string) (settings.Value, bool) {
		value, found := own[project+":"+key]
		return settings.Value{Text: value.Value, Secret: value.Secret}, found
	}, config)
	if len(problems) > 0 {
		return fmt.Errorf("the settings of the home: %s", strings.Join(problems, "; "))
	}
	return nil
}

// mapPortOf maps the port in a URL to which layer 2 lets Flux connect.
func (r *run) mapPortOf(former, own string) {
	from, fromErr := url.Parse(former)
	to, toErr := url.Parse(own)
	if fromErr != nil || toErr != nil {
		return
	}
	port, err := strconv.Atoi(from.Port())
	if own, ownErr := strconv.Atoi(to.Port()); err == nil && ownErr == nil {
		r.words.AddPort(port, own)
	}
}

// mapControlPlane maps the port in the address of the control plane, to which layer 2 lets Flux connect.
func (r *run) mapControlPlane(ctx context.Context) error {
	outputs, err := r.life.LayerOutputs(ctx, lifecycle.BootstrapLayer, true)
	if err != nil {
		return err
	}
	made, _ := outputs[handoff.OutputKubeconfig].(string)
	former, own := serverOf(r.first.Output(handoff.OutputKubeconfig)), serverOf(made)
	r.mapPortOf(former, own)
	return nil
}

// serverOf returns the address of the cluster of a kubeconfig; empty if there is none.
func serverOf(kubeconfig string) string {
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		return ""
	}
	return config.Host
}

// publishLogin publishes how a kubeconfig logs in by a program: the name of the program is no secret, and the kubeconfig is one as a whole.
func (r *run) publishLogin(kubeconfig string) {
	config, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		return
	}
	for _, user := range config.AuthInfos {
		if user.Exec != nil {
			r.words.PublishTexts(append(user.Exec.Args, user.Exec.APIVersion, user.Exec.Command, user.Exec.InstallHint, string(user.Exec.InteractiveMode))...)
		}
	}
}
