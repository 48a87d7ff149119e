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
		Cloud: s.google.Workloads(home.Project),
		Workload: func(ctx context.Context) (metadata.Workload, bool, error) {
			pod, ok := httpbackend.Pod(ctx)
			if !ok {
				return metadata.Workload{}, false, nil
			}
			account, googleAccount, err := accounts(ctx, pod)
			return metadata.Workload{Namespace: pod.Namespace, Account: account, GoogleAccount: googleAccount}, true, err
		},
	})
}
