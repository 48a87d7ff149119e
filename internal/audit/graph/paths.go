package graph

import (
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/audit"
)

// Prefixes of nodes. A node without a prefix is a user of Kubernetes.
const (
	googlePrefix = "google:"
	gitPrefix    = "git:"
	jewelPrefix  = "jewel:"

	anonymous = audit.AnonymousUser
)

// Crown jewels: what is worth having. The Secrets of each team are another one.
const (
	ClusterAdmin = "cluster-admin"
	IAMPolicy    = "the IAM policy of the project"
	LayerState   = "the state of the layers"
	secretsOf    = "the Secrets of team "
)

// Step is an edge of the graph: one node becomes another, or gets a jewel.
type Step struct {
	// From and To are names for people.
	From string `json:"from"`
	To   string `json:"to"`
	// By is the permission that makes the step possible.
	By string `json:"by"`
}

// Path is a shortest path of an identity to a jewel.
type Path struct {
	Identity string `json:"identity"`
	Jewel    string `json:"jewel"`
	Steps    []Step `json:"steps"`
	// Expected says that the path is part of the design. Why is the reason.
	Expected bool   `json:"expected"`
	Why      string `json:"why,omitempty"`
}

// Key identifies a path over several audits.
func (p Path) Key() string { return p.Identity + "\x00" + p.Jewel }

// edge leads to another node.
type edge struct{ to, by string }

// Graph says which identity can become which.
type Graph struct {
	facts  *Facts
	rights *rights
	git    *audit.GitServer
	google *Policies
	extra  map[string][]edge
	known  map[string][]edge
}

// New returns the graph of the facts. git and google may be nil.
func New(facts *Facts, git *audit.GitServer, google *Policies) *Graph {
	return &Graph{facts: facts, rights: newRights(facts), git: git, google: google, extra: map[string][]edge{}, known: map[string][]edge{}}
}

// Add adds an edge that an attempt has found, from an identity to a jewel.
func (g *Graph) Add(identity audit.Identity, jewel, by string) {
	g.extra[identity.Name] = append(g.extra[identity.Name], edge{jewelPrefix + jewel, by})
}

// edges returns the edges of a node, each at most once.
func (g *Graph) edges(node string) []edge {
	if found, ok := g.known[node]; ok {
		return found
	}
	var found []edge
	switch {
	case strings.HasPrefix(node, jewelPrefix):
	case strings.HasPrefix(node, gitPrefix):
		found = g.ofGit(strings.TrimPrefix(node, gitPrefix))
	case strings.HasPrefix(node, googlePrefix):
		found = g.google.edges(strings.TrimPrefix(node, googlePrefix))
	default:
		found = append(g.ofUser(node), g.google.workload(node)...)
	}
	g.known[node] = found
	return found
}

// Paths returns the shortest path of each identity to each jewel that the identity reaches.
func (g *Graph) Paths(identities []audit.Identity) []Path {
	var paths []Path
	for _, identity := range identities {
		for _, path := range g.from(identity) {
			path.Expected, path.Why = expected(identity, path.Jewel)
			paths = append(paths, path)
		}
	}
	return paths
}

// from returns the shortest paths of one identity: a search in breadth.
func (g *Graph) from(identity audit.Identity) []Path {
	type arrival struct {
		from string
		edge
	}
	came, queue := map[string]arrival{}, []string{}
	visit := func(from string, e edge) {
		if _, seen := came[e.to]; !seen {
			came[e.to] = arrival{from, e}
			queue = append(queue, e.to)
		}
	}
	for _, start := range starts(identity) {
		visit("", edge{start, ""})
	}
	for _, e := range g.extra[identity.Name] {
		visit("", e)
	}
	// visit appends to the queue.
	for done := 0; done < len(queue); {
		node := queue[done]
		done++
		for _, e := range g.edges(node) {
			visit(node, e)
		}
	}
	var paths []Path
	for _, node := range queue {
		jewel, is := strings.CutPrefix(node, jewelPrefix)
		if !is || identity.Team != "" && jewel == secretsOf+identity.Team {
			continue
		}
		path := Path{Identity: identity.Name, Jewel: jewel}
		for at := node; came[at].by != ""; at = came[at].from {
			from := came[at].from
			if from == "" || came[from].by == "" {
				from = identity.Name
			}
			path.Steps = append(path.Steps, Step{From: label(from), To: label(at), By: came[at].by})
		}
		slices.Reverse(path.Steps)
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b Path) int { return strings.Compare(a.Jewel, b.Jewel) })
	return paths
}

// starts returns the nodes of an identity: its accounts.
func starts(identity audit.Identity) []string {
	var nodes []string
	if identity.Kubernetes != "" {
		nodes = append(nodes, identity.Kubernetes)
	}
	if identity.Google != "" {
		nodes = append(nodes, googlePrefix+identity.Google)
	}
	if identity.Git != "" && identity.Class != audit.Anonymous {
		nodes = append(nodes, gitPrefix+identity.Git)
	}
	return nodes
}

// label returns the name of a node for people.
func label(node string) string {
	for prefix, name := range map[string]string{googlePrefix: "Google account ", gitPrefix: "Git login ", jewelPrefix: "", "system:serviceaccount:": "account "} {
		if rest, is := strings.CutPrefix(node, prefix); is {
			return name + strings.Replace(rest, ":", "/", 1)
		}
	}
	return node
}

// expected reports whether a path belongs to the design, and why.
func expected(identity audit.Identity, jewel string) (ok bool, why string) {
	ofTeam := strings.HasPrefix(jewel, secretsOf)
	switch identity.Class {
	case audit.Engineer:
		return true, "the engineer creates the platform"
	case audit.Administrator:
		return jewel == ClusterAdmin || ofTeam, "the administrator creates layer 2"
	case audit.Applier, audit.Fetcher:
		return jewel == ClusterAdmin || ofTeam, "Flux's own roles make its controllers administrators"
	case audit.Platform:
		return ofTeam, "the platform account deploys the operator"
	case audit.Operator, audit.Upstream:
		return ofTeam, "the operator runs the teams' Stacks"
	}
	return false, ""
}
