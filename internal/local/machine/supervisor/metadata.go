package supervisor

import (
	"context"
	"net/http"

	"github.com/strata-platform/strata/internal/local/cloud/metadata"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/network/httpbackend"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
)

// metadata returns the metadata server of the pods.
func (s *supervisor) metadata(accounts google.Accounts) http.Handler {
	return metadata.New(metadata.Options{
		Cloud: s.google.Workloads(home.Project), Accounts: accounts,
		Pod: func(ctx context.Context) (namespace, name string, ok bool) {
			pod, ok := httpbackend.Pod(ctx)
			return pod.Namespace, pod.Name, ok
		},
	})
}
