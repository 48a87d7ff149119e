package gke

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
)

var _ lifecycle.Target = (*Platform)(nil)

// Limits of the waits on this target. A run of upstream's operator first schedules a pod and pulls its images, and creating
// or deleting a database instance takes minutes.
const (
	readyTimeout = 15 * time.Minute
	readyPoll    = 2 * time.Second

	teardownPatience = 10 * time.Minute
	teardownLimit    = time.Hour
)

// About implements [lifecycle.Target].
func (p *Platform) About() lifecycle.About {
	return lifecycle.About{
		Place: "the platform on Google Cloud, stack " + p.Environment, Engineer: engineer(),
		Operator:  "policies, the operator for Program and Stack",
		TeamsFile: lifecycle.TeamsFile, Call: p.strataLine,
		Unprotect: fmt.Sprintf("run `%s`, then `%s`", p.pulumiLine(lifecycle.BootstrapLayer, "config set deletionProtection false"),
			p.strataLine("layer up "+lifecycle.BootstrapLayer)),
		Reconnect: "check the network and your login to Google Cloud, then run this again",
		Kubectl:   p.kubectl(), FluxLogs: p.kubectl() + " -n " + fluxcd.Namespace + " logs deployment/kustomize-controller",
		Ready: readyTimeout, Poll: readyPoll, Patience: teardownPatience, Limit: teardownLimit,
	}
}

// Exists returns true: only Pulumi knows whether there is a platform.
func (p *Platform) Exists() bool { return true }

// Journal returns none: the cluster itself shows the effects of an interrupted down to every engineer.
func (p *Platform) Journal() lifecycle.Journal { return noJournal{} }

// Lock does nothing: the backend locks each stack for all of its users.
func (p *Platform) Lock() (release func(), err error) { return func() {}, nil }

// Check returns the step that checks the requirements of the layers.
func (p *Platform) Check() lifecycle.Step { return lifecycle.Step{Name: "checks", Do: p.showChecks} }

// showChecks shows every finding. It returns an error if a requirement is missing, before any change.
func (p *Platform) showChecks(ctx context.Context, show *progress.Reporter) (string, error) {
	f, findings := p.check(ctx)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	missing := 0
	for _, finding := range findings {
		show.Note("%s", finding)
		if !finding.Note {
			missing++
		}
	}
	if missing > 0 {
		return "", fmt.Errorf("target gke, stack %s: %d requirements are missing (✗): nothing was changed: fix them as described above and run this again", p.Environment, missing)
	}
	return f.login(), nil
}

// Prepare returns no steps: the layers use the engineer's own tools, configuration and repositories.
func (p *Platform) Prepare(bool) []lifecycle.Step { return nil }

// Finish returns no steps: no process or file of Strata exists besides the layers.
func (p *Platform) Finish(context.Context, bool) []lifecycle.Step { return nil }

// holders maps the types of layer 1 that contain irreplaceable data to a format that describes a resource by its name.
var holders = map[string]string{
	"gcp:sql/databaseInstance:DatabaseInstance": "Cloud SQL instance %s with all its databases",
	"gcp:storage/bucket:Bucket":                 "bucket %s with the state of a team's Stacks",
}

// Complete adds to the plan of down the resources with irreplaceable data.
func (p *Platform) Complete(_ context.Context, plan *lifecycle.Plan, first []apitype.ResourceV3, _ bool) error {
	for _, resource := range first {
		if text, is := holders[string(resource.Type)]; is {
			plan.Lost = append(plan.Lost, fmt.Sprintf(text, resource.Inputs["name"]))
		}
	}
	return nil
}

// Next returns commands to try after up.
func (p *Platform) Next(context.Context) ([]string, error) {
	return []string{
		p.strataLine("status"),
		"(umask 077 && " + p.pulumiLine(lifecycle.BootstrapLayer, "stack output kubeconfig --show-secrets") + " > " + p.kubeconfig() + ")",
		p.kubectl() + " get gitrepositories,kustomizations,stacks --all-namespaces",
	}, nil
}

// engineer returns the identity that runs layer 1, as far as the credentials reveal it.
func engineer() string {
	value := os.Getenv("GOOGLE_CREDENTIALS")
	if value == "" {
		value = os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	}
	content := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		content, _ = os.ReadFile(value)
	}
	var key struct {
		Email string `json:"client_email"`
	}
	if err := json.Unmarshal(content, &key); err == nil && key.Email != "" {
		return key.Email
	}
	return "your Google identity"
}

// kubeconfig returns the path, quoted for a shell, that messages suggest for the cluster's kubeconfig.
func (p *Platform) kubeconfig() string { return `"$HOME/strata-` + p.Environment + `.kubeconfig"` }

// kubectl returns the first words of calls of kubectl in messages.
func (p *Platform) kubectl() string { return "kubectl --kubeconfig " + p.kubeconfig() }

// strataLine returns a command line of strata for this platform.
func (p *Platform) strataLine(command string) string {
	line := "strata " + command + " --target gke"
	if p.Environment != "dev" {
		line += " --env " + p.Environment
	}
	return line
}
