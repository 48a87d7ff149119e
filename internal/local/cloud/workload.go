package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/metadata"
)

// workloads creates the tokens of the pods of a project's cluster. It implements metadata.Cloud.
type workloads struct {
	core    *core.Core
	project string

	mu     sync.Mutex
	tokens map[string]metadata.Token // by account and scopes
}

// Workloads returns the source of the tokens of the pods in a project's cluster.
func (s *Server) Workloads(project string) metadata.Cloud {
	return &workloads{core: s.core, project: project, tokens: map[string]metadata.Token{}}
}

// Node implements metadata.Cloud.
func (k *workloads) Node(context.Context) (node metadata.Node, err error) {
	err = k.core.Store.View(func(tx *bbolt.Tx) error {
		node, err = k.node(tx)
		return err
	})
	return node, err
}

func (k *workloads) node(tx *bbolt.Tx) (metadata.Node, error) {
	project, err := api.FindProject(tx, k.project)
	if err != nil {
		return metadata.Node{}, err
	}
	cluster, err := container.ClusterOf(tx, k.project)
	if err != nil {
		return metadata.Node{}, err
	}
	if project == nil || cluster == nil {
		return metadata.Node{}, api.NotFound("Project %s has no cluster.", k.project)
	}
	id := sha256.Sum256([]byte(cluster.Id))
	zone := api.ZonesOf(cluster.Location)[0]
	node := metadata.Node{
		Project: project.ID, ProjectNumber: project.Number,
		Cluster: cluster.Name, Location: cluster.Location, UID: cluster.Id,
		Zone: zone, Hostname: "local." + zone + ".c." + project.ID + ".internal", ID: binary.BigEndian.Uint64(id[:]) >> 1,
	}
	if identity := cluster.WorkloadIdentityConfig; identity != nil {
		node.Pool = identity.WorkloadPool
	}
	return node, nil
}

// renewBefore is the rest of a token's life at which a pod gets a new one.
const renewBefore = 5 * time.Minute

// The permissions that a Kubernetes account needs on its Google account. The role roles/iam.workloadIdentityUser has both.
const (
	accessPermission   = "iam.serviceAccounts.getAccessToken"
	identityPermission = "iam.serviceAccounts.getOpenIdToken"
)

// maxTokens bounds the tokens that the emulator keeps in memory, because pods choose the scopes.
const maxTokens = 1000

// AccessToken implements metadata.Cloud. Pods with the same account get the same token, as on Kubernetes Engine, until its
// end is near. The emulator checks the permission for each of them.
func (k *workloads) AccessToken(_ context.Context, of metadata.Workload, scopes []string) (token metadata.Token, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := strings.Join(scopes, " ")
	err = k.core.Store.View(func(tx *bbolt.Tx) error {
		token, err = k.kept(tx, of, text)
		return err
	})
	if err != nil || token.Value != "" {
		return token, err
	}
	err = k.core.Store.Update(func(tx *bbolt.Tx) error {
		who, account, err := k.principal(tx, of, accessPermission)
		if err != nil {
			return err
		}
		var unique string
		if account != nil {
			unique = account.UniqueId
		}
		if token.Value, token.Expires, err = k.core.IssueToken(tx, who, unique, text, 0); err != nil {
			return err
		}
		if len(k.tokens) >= maxTokens {
			clear(k.tokens)
		}
		k.tokens[who.Member+" "+text] = token
		return nil
	})
	return token, err
}

// kept returns the current token of a pod's account, or none.
func (k *workloads) kept(tx *bbolt.Tx, of metadata.Workload, scopes string) (metadata.Token, error) {
	who, _, err := k.principal(tx, of, accessPermission)
	if err != nil {
		return metadata.Token{}, err
	}
	token := k.tokens[who.Member+" "+scopes]
	if !k.core.Now().Add(renewBefore).Before(token.Expires) {
		return metadata.Token{}, nil
	}
	if usable, err := k.core.Usable(tx, token.Value); err != nil || !usable {
		return metadata.Token{}, err
	}
	return token, nil
}

// IDToken implements metadata.Cloud.
func (k *workloads) IDToken(_ context.Context, of metadata.Workload, audience string) (token string, err error) {
	err = k.core.Store.Update(func(tx *bbolt.Tx) error {
		_, account, err := k.principal(tx, of, identityPermission)
		if err != nil {
			return err
		}
		if account == nil {
			return api.NotFound("A Kubernetes service account without a Google service account has no ID tokens.")
		}
		token, err = k.core.IssueIDToken(tx, authn.Identity{UniqueID: account.UniqueId, Email: account.Email}, audience)
		return err
	})
	return token, err
}

// principal returns the principal of a pod's tokens: its Google account, if the Kubernetes account has a permission on
// it, or the Kubernetes account itself. The annotation of a Kubernetes account is only a wish: IAM decides.
func (k *workloads) principal(tx *bbolt.Tx, of metadata.Workload, permission string) (api.Principal, *iam.ServiceAccount, error) {
	node, err := k.node(tx)
	if err != nil {
		return api.Principal{}, nil, err
	}
	self, ok := authn.Workload{Pool: node.Pool, Namespace: of.Namespace, Account: of.Account}.Principal()
	if !ok || node.Pool == "" {
		return api.Principal{}, nil, api.NotFound("Cluster %s has no workload identity for %s/%s.", node.Cluster,
			api.Printable(of.Namespace), api.Printable(of.Account))
	}
	if of.GoogleAccount == "" {
		return self, nil, nil
	}
	account, err := authn.FindAccount(tx, "-", of.GoogleAccount)
	if err != nil {
		return api.Principal{}, nil, err
	}
	denied := api.NewError(http.StatusForbidden, "PERMISSION_DENIED", "forbidden", "Permission '%s' denied on resource (or it may not exist).", permission)
	if account == nil || account.Email != of.GoogleAccount || account.Disabled {
		return api.Principal{}, nil, denied
	}
	granted, err := k.core.Allowed(tx, self, permission, api.Resource{
		Project: account.ProjectId, Name: account.Name, Policy: authn.AccountPolicy(account.Email),
	})
	if err == nil && !granted {
		err = denied
	}
	return api.Principal{Member: "serviceAccount:" + account.Email, Email: account.Email}, account, err
}
