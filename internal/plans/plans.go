// Package plans builds Plans from the commits of teams' repositories, and keeps them in the cluster.
//
// The objects of a Plan are those that Flux would apply: the trial build of the Git server builds them. A Plan contains only what
// the operator needs: Stacks, Programs, the ConfigMaps that the Stacks read, and orders. It never contains a Secret.
package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/status/message"
	"github.com/strata-platform/strata/operator/plan"
)

// BranchLabel is a label of Plans. Its value identifies the branch, see [BranchValue].
const BranchLabel = "strata.dev/plan-branch"

// MostManifests is the maximum size of a Plan's manifests in bytes. etcd stores objects of at most 1.5 MB, and the status needs room.
const MostManifests = 900_000

// Commit is a commit of a team's repository.
type Commit struct {
	// Branch is the branch without refs/heads/, or empty for a commit on no branch.
	Branch string
	// ID is the full hexadecimal ID.
	ID string
}

// Sync is a Kustomization of Flux that applies a team's repository.
type Sync struct {
	Namespace, Name string
	// Account is the service account that Flux applies the repository under.
	Account string
	// Source is the name of the Kustomization's source.
	Source string
	// Spec is the spec of the Kustomization.
	Spec trial.Sync
}

// SyncOf returns the sync of a Kustomization.
func SyncOf(kustomization *unstructured.Unstructured) Sync {
	spec, _, _ := unstructured.NestedMap(kustomization.Object, "spec")
	s := Sync{Namespace: kustomization.GetNamespace(), Name: kustomization.GetName(), Spec: spec}
	s.Account, _, _ = unstructured.NestedString(spec, "serviceAccountName")
	s.Source, _, _ = unstructured.NestedString(spec, "sourceRef", "name")
	return s
}

func (s Sync) String() string { return fmt.Sprintf("Kustomization %s/%s", s.Namespace, s.Name) }

// problem returns why no Plan can be created for the sync, or nil.
func (s Sync) problem() error {
	if s.Account == "" {
		return fmt.Errorf("%s names no service account: the platform team sets one", s)
	}
	if from, _, _ := unstructured.NestedSlice(s.Spec, "postBuild", "substituteFrom"); len(from) > 0 {
		return fmt.Errorf("%s substitutes variables from Secrets or ConfigMaps, which a Plan must not read: write them into postBuild.substitute", s)
	}
	return nil
}

// commitID matches the IDs of commits.
var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// ErrBuild means that Flux cannot build the commit.
var ErrBuild = errors.New("Flux cannot build the commit")

// New returns the Plan of a commit from the build of the commit for the sync.
func New(commit Commit, sync Sync, built trial.Manifests) (*plan.Plan, error) {
	if !commitID.MatchString(commit.ID) {
		return nil, fmt.Errorf("%q is not the ID of a commit", commit.ID)
	}
	if err := sync.problem(); err != nil {
		return nil, err
	}
	if built.Failure != "" {
		return nil, fmt.Errorf("%w: %s", ErrBuild, message.OneLine(message.Build(built.Failure)))
	}
	text, err := manifests(built.Objects)
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name(commit, sync), Namespace: sync.Namespace, Labels: map[string]string{BranchLabel: BranchValue(commit.Branch)},
		},
		Spec: plan.Spec{Branch: commit.Branch, Commit: commit.ID, Account: sync.Account, Sync: sync.Name, Manifests: text},
	}
	return p, nil
}

const (
	// mostName is the maximum length of a Plan's name, so that the name can be the value of a label.
	mostName = 63
	// commitPart and syncPart are the lengths of these parts of the name.
	commitPart, syncPart = 10, 20
)

// Name returns the name of a Plan: the branch, the Kustomization unless it has the name of its source, as a team's first one has,
// and the beginning of the commit's ID.
func Name(commit Commit, sync Sync) string {
	end := "-" + commit.ID[:commitPart]
	if sync.Name != sync.Source {
		end = "-" + cut(slug(sync.Name), syncPart) + end
	}
	begin := slug(commit.Branch)
	if begin == "" {
		begin = "commit"
	}
	return cut(begin, mostName-len(end)) + end
}

// notInName matches the characters that names of objects cannot have.
var notInName = regexp.MustCompile(`[^a-z0-9]+`)

func slug(text string) string {
	return strings.Trim(notInName.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

func cut(text string, most int) string {
	return strings.TrimRight(text[:min(len(text), most)], "-")
}

// BranchValue returns the value of BranchLabel for a branch. It is a digest, because a label cannot contain each name of a branch.
func BranchValue(branch string) string {
	digest := sha256.Sum256([]byte(branch))
	return hex.EncodeToString(digest[:16])
}
