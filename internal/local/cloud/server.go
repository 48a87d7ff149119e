package cloud

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"path/filepath"
	"slices"

	"cloud.google.com/go/kms/apiv1/kmspb"

	"github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/auditlog"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/federation"
	"github.com/strata-platform/strata/internal/local/cloud/iam"
	"github.com/strata-platform/strata/internal/local/cloud/kms"
	"github.com/strata-platform/strata/internal/local/cloud/resourcemanager"
	"github.com/strata-platform/strata/internal/local/cloud/sql"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/cloud/storage"
	"github.com/strata-platform/strata/internal/local/cloud/transcode"
	"github.com/strata-platform/strata/internal/local/cloud/usage"
)

// Options are the folder of the emulator's state, the URL for clients, and the runtimes of clusters and databases.
type Options struct {
	// Dir is the folder of the store. New creates it, readable only by its owner, if it does not exist.
	Dir string
	// BaseURL is the URL at which clients reach the server, for example http://127.0.0.1:4711. Credentials carry it as
	// token_uri, so it must not change while clients use them.
	BaseURL string
	// Clusters runs the control plane of a cluster. If it is nil, clients cannot create clusters.
	Clusters container.Runtime
	// Databases runs the servers of Cloud SQL instances. If it is nil, clients cannot create instances.
	Databases engine.Runtime
	// Audited is called with each entry of the audit log and its line, in the order of the log. It may be nil.
	Audited func(*auditlog.Entry, []byte)
}

// Server is the emulated Google Cloud of one home.
type Server struct {
	core *core.Core
	// rpc serves the gRPC calls of clients that have no REST calls.
	rpc       http.Handler
	authority *authority
	// certificate is the certificate for Google's hosts.
	certificate tls.Certificate
	tunnels     *tunnels
}

// New opens the emulator's store. Start then resumes the clusters, instances and operations in it.
func New(options Options) (*Server, error) {
	tables := slices.Concat(iam.Tables(), sql.Tables(), container.Tables(), storage.Tables(), kms.Tables())
	c, err := core.New(options.Dir, options.BaseURL, tables...)
	if err != nil {
		return nil, err
	}
	s := &Server{core: c, rpc: transcode.New(c, kmspb.File_google_cloud_kms_v1_service_proto.Services().ByName("KeyManagementService"))}
	iam.Register(c)
	resourcemanager.Register(c)
	usage.Register(c)
	sql.Register(c, options.Databases)
	container.Register(c, options.Clusters)
	kms.Register(c)
	federation.Register(c)
	err = errors.Join(c.Audit(options.Dir, options.Audited), storage.Register(c, filepath.Join(options.Dir, "objects")))
	if err == nil {
		err = s.openTunnels(options.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// openTunnels opens the certificate authority and starts to serve tunnels.
func (s *Server) openTunnels(dir string) error {
	var err error
	if s.authority, err = openAuthority(dir, s.core.Now()); err != nil {
		return err
	}
	if s.certificate, err = s.authority.certify(s.Hosts(), s.core.Now()); err != nil {
		return err
	}
	s.tunnels = newTunnels(s, s.TLSConfig())
	s.core.Background(func(context.Context) { s.tunnels.serve() })
	return nil
}

// Start resumes the cluster, the instances and the unfinished operations of an emulator that was closed or killed. It
// returns when the cluster and the instances serve. Its error names those that fail to start.
func (s *Server) Start(ctx context.Context) error { return s.core.Start(ctx) }

// Close interrupts the work of operations, stops the instances and closes the store. The next Start resumes
// interrupted operations. Close leaves the cluster running, because it belongs to its runtime.
func (s *Server) Close() error {
	return errors.Join(s.tunnels.stop(), s.core.Close())
}

// EnsureProject creates a project with the user of the e-mail address owner as its owner. It returns a new login of the user, as
// [Server.Login] does.
func (s *Server) EnsureProject(id, owner string) ([]byte, error) {
	return s.core.EnsureProject(id, owner)
}

// LoginLifetime is the time for which a login is valid.
const LoginLifetime = authn.LoginLifetime

// Login returns a new login of the user of an e-mail address: a credentials file, of type authorized_user, whose calls use the
// quota of the project. It is valid for [LoginLifetime]; earlier logins of the user stay valid until they expire.
func (s *Server) Login(project, email string) ([]byte, error) { return s.core.Login(project, email) }

// ServeHTTP handles one call by REST or gRPC, or opens a tunnel.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		s.openTunnel(w, r)
		return
	}
	if transcode.IsGRPC(r) {
		s.rpc.ServeHTTP(w, r)
		return
	}
	s.core.ServeHTTP(w, r)
}
