package gke

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/platform"
)

// Finding is a problem that a check found.
type Finding struct {
	// Check is the name of the check, Found the problem, and Remedy the command or page that fixes it.
	Check, Found, Remedy string
	// Note says that the platform works in spite of the problem.
	Note bool
}

// String returns the finding in one line.
func (f Finding) String() string {
	mark := "✗"
	if f.Note {
		mark = "!"
	}
	return fmt.Sprintf("%s %s: %s: %s", mark, f.Check, f.Found, f.Remedy)
}

const (
	pulumiInstall = "https://www.pulumi.com/docs/install/"
	goInstall     = "https://go.dev/dl/"
)

// facts are results of the checks that later steps use.
type facts struct {
	pulumi, backend, user string
	bootstrap             bootstrap.Config
	platform              platform.Config
}

// Findings checks all requirements of the layers, and changes nothing. login describes pulumi and its login; empty if there is none.
func (p *Platform) Findings(ctx context.Context) (login string, findings []Finding) {
	f, findings := p.check(ctx)
	return f.login(), findings
}

// login describes pulumi and its login; empty if there is none.
func (f facts) login() string {
	if f.backend == "" {
		return ""
	}
	return fmt.Sprintf("pulumi %s, %s as %s", f.pulumi, f.backend, f.user)
}

// check checks all requirements of the layers, and changes nothing. It omits a check whose own requirements fail.
func (p *Platform) check(ctx context.Context) (facts, []Finding) {
	var f facts
	findings := slices.Concat(p.checkGo(ctx), p.checkTeamsFile(), p.checkPins())
	command, err := p.pulumi()
	if err != nil {
		return f, append(findings, Finding{Check: "pulumi", Found: err.Error(), Remedy: "install it: " + pulumiInstall})
	}
	f.pulumi = "v" + strings.TrimPrefix(command.Version().String(), "v")
	found := p.checkLogin(ctx, &f)
	if len(found) == 0 {
		found = p.checkLayers(ctx, &f)
	}
	return f, append(findings, found...)
}

func (p *Platform) checkTeamsFile() []Finding {
	if _, err := p.Teams(); err != nil {
		return []Finding{{Check: "teams.yaml", Found: err.Error(), Remedy: "correct the file"}}
	}
	return nil
}

// checkLogin asks pulumi for the backend that it is logged in to.
func (p *Platform) checkLogin(ctx context.Context, f *facts) []Finding {
	stdout, stderr, _, err := p.command.Run(ctx, p.Root, nil, nil, nil, nil, "whoami", "--json", "--non-interactive")
	var who struct{ User, URL string }
	if err == nil {
		err = json.Unmarshal([]byte(stdout), &who)
	}
	if err != nil {
		return []Finding{{Check: "pulumi's login", Found: firstLine(stderr, err), Remedy: "run `pulumi login gs://BUCKET`"}}
	}
	f.backend, f.user = who.URL, who.User
	return nil
}

func firstLine(said string, err error) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "error: "); line != "" {
			return line
		}
	}
	return err.Error()
}

// checkLayers reads the configuration of both layers, and checks the machine for the programs that it requires.
func (p *Platform) checkLayers(ctx context.Context, f *facts) []Finding {
	first := p.checkConfig(ctx, lifecycle.BootstrapLayer, bootstrap.Project, &f.bootstrap)
	second := p.checkConfig(ctx, lifecycle.PlatformLayer, platform.Project, &f.platform)
	findings := slices.Concat(first, second)
	if len(second) == 0 && f.platform.Target == "local" {
		findings = append(findings, Finding{
			Check: "layer platform", Found: "its target is local", Remedy: "run `" + p.pulumiLine(lifecycle.PlatformLayer, "config set target gke") + "`",
		})
	}
	if len(second) == 0 {
		findings = append(findings, p.checkOperator(f, len(first) == 0)...)
	}
	findings = append(findings, checkGoogle()...)
	if _, err := exec.LookPath("gke-gcloud-auth-plugin"); err != nil && len(first) == 0 && !f.bootstrap.IssueClientCertificate {
		findings = append(findings, Finding{
			Check: "gke-gcloud-auth-plugin", Found: "it is not on PATH, and kubectl needs it to log in to the cluster", Remedy: "run `gcloud components install gke-gcloud-auth-plugin`",
		})
	}
	return findings
}

// checkConfig reads the configuration of one layer's stack into config. Secrets stay in memory.
func (p *Platform) checkConfig(ctx context.Context, layer, projectName string, config any) []Finding {
	check := "layer " + layer
	text, err := p.runPulumi(ctx, layer, "config", "--json", "--show-secrets")
	var problems []string
	if err == nil {
		problems, err = settings.ReadJSON([]byte(text), projectName, config)
	}
	switch {
	case err == nil:
	case layers.NoStack(err):
		return []Finding{{Check: check, Found: "there is no stack " + p.Environment, Remedy: "run `" + p.stackInit(layer) + "`"}}
	case strings.Contains(err.Error(), "passphrase"):
		return []Finding{{
			Check: check, Found: "the passphrase of stack " + p.Environment + " is missing or wrong", Remedy: "put it into a file and run `export PULUMI_CONFIG_PASSPHRASE_FILE=FILE`",
		}}
	default:
		return []Finding{{Check: check, Found: err.Error(), Remedy: "fix the cause; `" + p.pulumiLine(layer, "config") + "` shows the same error"}}
	}
	var findings []Finding
	for _, problem := range problems {
		findings = append(findings, Finding{Check: check, Found: problem, Remedy: "run `" + p.configSet(layer, problem, config) + "`"})
	}
	return findings
}

func (p *Platform) stackInit(layer string) string {
	line := "pulumi stack init " + p.Environment
	if layer == lifecycle.BootstrapLayer {
		line += " --cwd bootstrap"
	}
	return line
}

// configSet returns the commands that set the setting of a problem, and the secrets that the problem names.
func (p *Platform) configSet(layer, problem string, config any) string {
	var commands []string
	for _, declared := range settings.Declarations(indirect(config)) {
		own := declared.Key == settings.Key(problem)
		switch {
		case own && declared.Type == "object":
			commands = append(commands, p.pulumiLine(layer, "config set --path --secret "+declared.Key+".TEAM.password"))
		case declared.Secret && (own || strings.Contains(problem, declared.Key)):
			commands = append(commands, p.pulumiLine(layer, "config set --secret "+declared.Key))
		case own:
			commands = append(commands, p.pulumiLine(layer, "config set "+declared.Key+" VALUE"))
		}
	}
	return strings.Join(commands, " && ")
}

func indirect(config any) any {
	switch c := config.(type) {
	case *bootstrap.Config:
		return *c
	case *platform.Config:
		return *c
	}
	return config
}
