package recorder

import (
	"context"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/strata-platform/strata/internal/ledger/record"
	"github.com/strata-platform/strata/operator/runrecord"
)

// askTimeout bounds how long the record of a run waits for an API server that does not answer.
const askTimeout = 3 * time.Second

// mostBegun bounds the runs whose commits the recorder remembers until they end.
const mostBegun = 10_000

// ran records the begin or the end of a run. It adds the commit that Flux applied when the run began.
func (r *Recorder) ran(ctx context.Context, run runrecord.Run) error {
	if run.Layer != "" {
		return r.ledger.Append(run.Layer, record.Run, run)
	}
	key := run.Namespace + "/" + run.ID
	commit, known := r.commits[key]
	if !known {
		commit = r.commitOf(ctx, run.Namespace, run.Stack)
	}
	if run.Commit = commit; run.Result == "" && len(r.commits) < mostBegun {
		r.commits[key] = commit
	} else {
		delete(r.commits, key)
	}
	chain := record.Sync
	if team(run.Namespace) {
		chain = run.Namespace
	}
	return r.ledger.Append(chain, record.Run, run)
}

// These are the resources that relate a Stack to the commit it comes from.
var (
	stacks         = schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "stacks"}
	kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

// Labels with which Flux marks the objects of a Kustomization.
const (
	nameLabel      = "kustomize.toolkit.fluxcd.io/name"
	namespaceLabel = "kustomize.toolkit.fluxcd.io/namespace"
)

// digest matches the end of a revision of Flux: BRANCH@sha1:COMMIT.
var digest = regexp.MustCompile(`(?:^|[@/])sha1:([0-9a-f]{40})$`)

// commitOf returns the commit, or the revision of another source, that Flux last applied with a Stack; empty if it is unknown.
func (r *Recorder) commitOf(ctx context.Context, namespace, name string) string {
	config := r.admin()
	if config == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return ""
	}
	stack, err := client.Resource(stacks).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	// A team may write labels, but Flux applies them again. Only the sync of the Stack's own namespace counts: a label that names another
	// one would show the commit of another repository.
	of := stack.GetLabels()
	if of[namespaceLabel] != namespace {
		return ""
	}
	sync, err := client.Resource(kustomizations).Namespace(namespace).Get(ctx, of[nameLabel], metav1.GetOptions{})
	if err != nil {
		return ""
	}
	revision, _, _ := unstructured.NestedString(sync.Object, "status", "lastAttemptedRevision")
	if commit := digest.FindStringSubmatch(revision); commit != nil {
		return commit[1]
	}
	return strings.ToValidUTF8(revision[:min(len(revision), runrecord.LongestText)], "")
}
