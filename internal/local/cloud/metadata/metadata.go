// Package metadata serves the metadata of pods: who a pod is, and access tokens of its account. It stands for the
// metadata server of Kubernetes Engine at 169.254.169.254.
//
// Sources: https://cloud.google.com/kubernetes-engine/docs/concepts/workload-identity#metadata_server for what a pod sees
// in place of Compute Engine's metadata, https://cloud.google.com/compute/docs/metadata/querying-metadata for the headers
// and parameters, and https://github.com/banzaicloud/preemption-exporter/issues/3 for the entries of an instance.
package metadata

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Node is the metadata of a pod's project and node.
type Node struct {
	Project       string
	ProjectNumber int64
	// Pool is the workload identity pool of the cluster. It is empty if the cluster has no workload identity; then pods
	// have no accounts.
	Pool string
	// Cluster and Location name the cluster. UID is its unique ID.
	Cluster, Location, UID string
	// Zone, Hostname and ID are those of the node's virtual machine.
	Zone, Hostname string
	ID             uint64
}

// Workload is the account of a pod.
type Workload struct {
	// Namespace and Account name the Kubernetes service account.
	Namespace, Account string
	// GoogleAccount is the e-mail address of the Google service account in the annotation
	// iam.gke.io/gcp-service-account of the Kubernetes account. If it is empty, the pod's tokens are those of the
	// Kubernetes account itself, as a member of the cluster's workload identity pool.
	GoogleAccount string
}

// Token is an access token.
type Token struct {
	Value   string
	Expires time.Time
}

// Cloud knows the node, and creates the tokens of accounts. An *api.Error tells the pod why it gets no token.
type Cloud interface {
	Node(ctx context.Context) (Node, error)
	// AccessToken returns an access token with OAuth scopes. It checks at each call that the Kubernetes account may
	// impersonate the Google account.
	AccessToken(ctx context.Context, of Workload, scopes []string) (Token, error)
	// IDToken returns an ID token of the Google account for an audience, with the same check.
	IDToken(ctx context.Context, of Workload, audience string) (string, error)
}

// Options configures a handler. All fields are required.
type Options struct {
	Cloud Cloud
	// Workload returns the account of the pod that makes a request, from the request's context. ok is false if no pod makes
	// the request. The pod itself must not be able to choose this answer. The handler calls it for each request, so that a
	// change of the annotation counts at once.
	Workload func(ctx context.Context) (of Workload, ok bool, err error)
}

// handler answers the requests of pods.
type handler struct{ Options }

// New returns a handler.
func New(o Options) http.Handler { return &handler{o} }

const (
	flavorHeader, flavor = "Metadata-Flavor", "Google"

	// root is the path of the only version that Kubernetes Engine serves.
	root = "/computeMetadata/v1/"
)

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Clients recognise the metadata server by this header of every response.
	w.Header().Set(flavorHeader, flavor)
	w.Header().Set("Server", "GKE Metadata Server")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "Method "+api.Printable(r.Method)+" is not allowed. Use GET.")
	case len(r.Header.Values("X-Forwarded-For")) > 0:
		// A proxy adds this header, so the client may not be the pod.
		writeError(w, http.StatusForbidden, "Requests with the header X-Forwarded-For are rejected.")
	case r.URL.Path == "/":
		// Clients look for a metadata server with a request without headers.
		write(w, "application/text", "computeMetadata/\n")
	case r.Header.Get(flavorHeader) != flavor:
		// A browser or a proxy that somebody else directs here cannot add the header.
		writeError(w, http.StatusForbidden, "Missing required header: "+flavorHeader+": "+flavor+".")
	case r.URL.Path == "/computeMetadata/":
		write(w, "application/text", "v1/\n")
	case !strings.HasPrefix(r.URL.Path, root):
		notFound(w, r)
	case r.URL.Query().Get("wait_for_change") == "true":
		writeError(w, http.StatusBadRequest, "wait_for_change is not supported: the metadata of a pod does not change.")
	default:
		h.serve(w, r)
	}
}

// serve answers a request below root.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	node, of, err := h.find(r.Context())
	if err != nil {
		if told, ok := errors.AsType[*api.Error](err); ok {
			writeError(w, told.Code, told.Message)
			return
		}
		writeError(w, http.StatusInternalServerError, "The account of the pod could not be looked up: "+api.Printable(err.Error())+". Retry.")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, root)
	if account, what, ok := node.credential(path, of); ok {
		h.serveCredential(w, r, account, what)
		return
	}
	tree := node.tree(of)
	found := tree.find(path)
	switch {
	case found == nil:
		notFound(w, r)
	case found.isFolder() && !strings.HasSuffix(r.URL.Path, "/"):
		to := *r.URL
		to.Path += "/"
		http.Redirect(w, r, to.RequestURI(), http.StatusMovedPermanently)
	case !found.isFolder() && strings.HasSuffix(r.URL.Path, "/"):
		notFound(w, r)
	default:
		found.write(w, r)
	}
}

// find returns the node, and the account of the pod that makes the request.
func (h *handler) find(ctx context.Context) (Node, Workload, error) {
	of, ok, err := h.Workload(ctx)
	if err == nil && !ok {
		err = &api.Error{Code: http.StatusForbidden, Message: "Only pods have metadata here."}
	}
	if err != nil {
		return Node{}, Workload{}, err
	}
	node, err := h.Cloud.Node(ctx)
	return node, of, err
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, http.StatusNotFound, "The metadata server has no entry "+api.Printable(r.URL.Path)+".")
}

func writeError(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}

func write(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write([]byte(text))
}
