// Package planner creates Plans for the pushed branches of teams' repositories that Flux does not apply.
package planner

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/approvals"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/teams"
)

// Planner keeps the Plans of a home's cluster. It implements gitserver.Plans.
type Planner struct {
	// Admin returns the administrator's client configuration, or nil while no cluster runs.
	Admin func() *rest.Config
	// Call returns a command line of strata for the home.
	Call func(words string) string
}

// errNoCluster means that no cluster runs.
var errNoCluster = errors.New("the cluster does not run: `strata up` starts it")

func (p *Planner) client() (*plans.Client, error) {
	config := p.Admin()
	if config == nil {
		return nil, errNoCluster
	}
	return plans.NewClient(config)
}

// subject returns a Plan with the state of its approval.
func (p *Planner) subject(ctx context.Context, of *plan.Plan) (report.Subject, error) {
	config := p.Admin()
	if config == nil {
		return report.Subject{}, errNoCluster
	}
	client, err := approvals.NewClient(config)
	if err != nil {
		return report.Subject{}, err
	}
	state, err := client.StateOf(ctx, of)
	return report.On(of, state, p.Call), err
}

// Create implements gitserver.Plans. It deletes the oldest Plans of the namespace if there are too many, because the operator, which does
// so too, may not run.
func (p *Planner) Create(ctx context.Context, pushed gitserver.Pushed) (string, error) {
	of := pushed.Sync
	// The cluster may contain a Kustomization of this repository in another team's namespace. Its Plans would belong to that team.
	if of.Namespace != namespaceOf(pushed.Repository) {
		return "", nil
	}
	made, err := plans.New(
		plans.Commit{Branch: pushed.Branch, ID: pushed.Commit},
		plans.Sync{Namespace: of.Namespace, Name: of.Name, Source: of.Source, Account: of.Account, Spec: of.Spec}, pushed.Built,
	)
	if err != nil {
		return "", err
	}
	// The server has built the commit itself, so the result is that of the commit.
	made.Spec.Report = true
	client, err := p.client()
	if err != nil {
		return "", err
	}
	err = client.Trim(ctx, of.Namespace, plans.Most-1)
	if err == nil {
		made, err = client.Create(ctx, made)
	}
	if errors.Is(err, plans.ErrNoKind) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return made.Name, nil
}

func namespaceOf(repository string) string { return teams.Team{Name: repository}.Namespace() }

// Follow implements gitserver.Plans.
func (p *Planner) Follow(ctx context.Context, repository, name string, say func(string)) []string {
	client, err := p.client()
	if err != nil {
		return []string{fmt.Sprintf("cannot wait: %v", err)}
	}
	created, err := client.Get(ctx, namespaceOf(repository), name)
	if err == nil {
		created, err = client.Follow(ctx, created, say)
	}
	if err != nil {
		return []string{err.Error()}
	}
	shown, err := p.subject(ctx, created)
	if err != nil {
		return []string{err.Error()}
	}
	return report.Text(shown)
}

// Delete implements gitserver.Plans.
func (p *Planner) Delete(ctx context.Context, repository string, branches []string) (int, error) {
	client, err := p.client()
	if err != nil {
		return 0, nil // Without a cluster, there are no plans to delete now. The operator deletes old ones.
	}
	count, err := client.DeleteBranches(ctx, namespaceOf(repository), branches)
	if errors.Is(err, plans.ErrNoKind) {
		return 0, nil
	}
	return count, err
}

// Command implements gitserver.Plans.
func (p *Planner) Command(repository, name string) string {
	return p.Call("plan show " + name + " --team " + repository)
}
