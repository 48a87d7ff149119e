// Package report makes the report of an audit, signs it, compares it with an older one, and writes it for people and programs.
package report

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/acts"
	"github.com/strata-platform/strata/internal/audit/attempt"
	"github.com/strata-platform/strata/internal/audit/graph"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/terminal"
)

// Counts counts attempts by their ends, and the paths that do not belong to the design.
type Counts struct {
	Attempts     int `json:"attempts"`
	Refused      int `json:"refused"`
	Allowed      int `json:"allowed"`
	Unexpected   int `json:"unexpected"`
	Failed       int `json:"failed"`
	NotAttempted int `json:"notAttempted"`
	Paths        int `json:"unexpectedPaths"`
}

// Report is the result of an audit.
type Report struct {
	// Date is the time of the audit in UTC, Target the target of the platform.
	Date   time.Time `json:"date"`
	Target string    `json:"target"`
	// Versions maps Strata and the parts of the platform to their versions.
	Versions map[string]string `json:"versions"`
	// Sound says that nothing was unexpectedly allowed, that every attempt has an answer, and that no unexpected path exists.
	Sound      bool             `json:"sound"`
	Counts     Counts           `json:"counts"`
	Identities []audit.Identity `json:"identities"`
	Results    []audit.Result   `json:"results"`
	Paths      []graph.Path     `json:"paths"`
	// Changes are the differences to an older report; absent without one.
	Changes []Change `json:"changes,omitempty"`
}

// Make audits a platform.
func Make(ctx context.Context, site *audit.Site, now time.Time) (*Report, error) {
	cluster, err := attempt.NewCluster(site.Config, site.Impersonate)
	if err != nil {
		return nil, err
	}
	controllers, err := controllersOf(ctx, cluster)
	if err != nil {
		return nil, err
	}
	identities := site.Identities(controllers)
	attempts, err := acts.Attempts(ctx, site, cluster, identities)
	if err != nil {
		return nil, err
	}
	results, err := audit.Run(ctx, attempts)
	if err != nil {
		return nil, err
	}
	paths, err := pathsOf(ctx, site, cluster, identities, results)
	if err != nil {
		return nil, err
	}
	r := &Report{Date: now.UTC().Truncate(time.Second), Target: site.Target, Versions: versionsOf(cluster, site), Identities: identities, Results: results, Paths: paths}
	r.count()
	return r, nil
}

// controllersOf returns the names of the service accounts of Flux's controllers.
func controllersOf(ctx context.Context, cluster *attempt.Cluster) ([]string, error) {
	list, err := cluster.Admin().CoreV1().ServiceAccounts(fluxcd.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the accounts of Flux: %w", err)
	}
	var names []string
	for _, account := range list.Items {
		if strings.HasSuffix(account.Name, "-controller") {
			names = append(names, account.Name)
		}
	}
	return names, nil
}

func versionsOf(cluster *attempt.Cluster, site *audit.Site) map[string]string {
	versions := map[string]string{"strata": buildinfo.Version}
	if commit := buildinfo.Read().Commit; commit != "" {
		versions["strata commit"] = commit
	}
	if server, err := cluster.Admin().Discovery().ServerVersion(); err == nil {
		versions["kubernetes"] = server.GitVersion
	}
	maps.Copy(versions, site.Versions)
	return versions
}

// pathsOf computes the graph. The results of attempts on files add edges that no policy shows.
func pathsOf(ctx context.Context, site *audit.Site, cluster *attempt.Cluster, identities []audit.Identity, results []audit.Result) ([]graph.Path, error) {
	objects, err := dynamic.NewForConfig(site.Config)
	if err != nil {
		return nil, err
	}
	facts, err := graph.Gather(ctx, cluster.Admin(), objects)
	if err != nil {
		return nil, err
	}
	var policies *graph.Policies
	if site.Google != nil {
		token, err := site.Google.Token(ctx, site.Google.Engineer)
		if err != nil {
			return nil, fmt.Errorf("read the IAM policies as %s: %w", site.Google.Engineer, err)
		}
		if policies, err = graph.GatherPolicies(ctx, site.Google, func(ctx context.Context, method, address string) ([]byte, error) {
			return attempt.Fetch(ctx, token, method, address)
		}); err != nil {
			return nil, err
		}
	}
	g := graph.New(facts, site.Git, policies)
	byName := map[string]audit.Identity{}
	for _, identity := range identities {
		byName[identity.Name] = identity
		if identity.Class == audit.Engineer {
			g.Add(identity, graph.LayerState, "runs the layers")
		}
	}
	for _, result := range results {
		if result.Area == audit.State && result.Outcome == audit.Unexpected {
			g.Add(byName[result.Identity], graph.LayerState, "reads "+result.On)
		}
	}
	return g.Paths(identities), nil
}

// count counts the results and the paths.
func (r *Report) count() {
	c := Counts{Attempts: len(r.Results)}
	for _, result := range r.Results {
		switch result.Outcome {
		case audit.Refused:
			c.Refused++
		case audit.Allowed:
			c.Allowed++
		case audit.Unexpected:
			c.Unexpected++
		case audit.Failed:
			c.Failed++
		case audit.NotAttempted:
			c.NotAttempted++
		}
	}
	for _, path := range r.Paths {
		if !path.Expected {
			c.Paths++
		}
	}
	r.Counts = c
	r.Sound = c.Unexpected == 0 && c.Failed == 0 && c.Paths == 0
}

// Verdict returns an error unless the platform is sound.
func (r *Report) Verdict() error {
	c := r.Counts
	switch {
	case c.Unexpected > 0 || c.Paths > 0:
		return fmt.Errorf("%d acts are unexpectedly allowed, and %d paths lead to what they should not: the lines with ✗ name each, with what refuses it on a sound platform", c.Unexpected, c.Paths)
	case c.Failed > 0:
		return fmt.Errorf("%d attempts have no answer, which is not a refusal: the lines with ? name each: repeat the audit when the platform is ready (`strata status`)", c.Failed)
	}
	return nil
}

// longest is the maximum number of characters of a text in a line.
const longest = 300

// line escapes a text that a team may have chosen.
func line(text string) string { return terminal.Line(text, longest) }

// write writes lines.
func write(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// sorted returns the keys of a map in order.
func sorted[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
