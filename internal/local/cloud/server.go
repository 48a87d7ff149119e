package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/blobs"
)

// Options says where the emulator keeps its state, how clients reach it and what runs its clusters and databases.
type Options struct {
	// Dir is the folder of the store. New creates it, readable only by its owner, if it does not exist.
	Dir string
	// BaseURL is the URL at which clients reach the server, for example http://127.0.0.1:4711. Credentials carry it as
	// token_uri, so it must not change while clients use them.
	BaseURL string
	// Clusters runs the control plane of a cluster. If it is nil, clients cannot create clusters.
	Clusters ClusterRuntime
	// Databases runs the servers of Cloud SQL instances. If it is nil, clients cannot create instances.
	Databases DatabaseRuntime
}

// Server is the emulated Google Cloud of one home.
type Server struct {
	baseURL   string
	store     *store
	clusters  ClusterRuntime
	databases DatabaseRuntime
	services  map[string]*service
	now       func() time.Time

	// running is the context of background work for long-running operations. work counts that work.
	running context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup

	conditions conditionCache
	sql        sqlServers

	// blobs holds the contents of objects. uploading holds the IDs of uploads that a request is writing to.
	blobs     *blobs.Store
	uploading sync.Map

	authority *authority
	tunnels   *tunnels

	// tokensPruned is when the emulator last removed expired tokens. Only transactions that write to the store may use
	// it.
	tokensPruned time.Time
}

// New opens the emulator's store. Start then resumes the clusters, instances and operations in it.
func New(options Options) (*Server, error) {
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the emulator's folder: %w", err)
	}
	st, err := openStore(filepath.Join(options.Dir, "store.db"))
	if err != nil {
		return nil, err
	}
	s := &Server{
		baseURL:   strings.TrimSuffix(options.BaseURL, "/"),
		store:     st,
		clusters:  options.Clusters,
		databases: options.Databases,
		now:       time.Now,
	}
	s.running, s.stop = context.WithCancel(context.Background())
	s.services = map[string]*service{}
	for _, svc := range []*service{
		s.iamService(), s.resourceManagerService(), s.containerService(), s.sqlService(), s.serviceUsageService(),
		s.storageService(), s.computeService(), s.identityService(),
	} {
		svc.routes = compile(svc.routes)
		s.services[svc.prefix] = svc
	}
	if err := s.openParts(options.Dir); err != nil {
		return nil, errors.Join(err, st.close())
	}
	s.work.Go(s.tunnels.serve)
	return s, nil
}

// openParts opens the parts of the emulator outside its store.
func (s *Server) openParts(dir string) error {
	var err error
	if s.blobs, err = blobs.Open(filepath.Join(dir, "objects")); err != nil {
		return err
	}
	if err := s.sweepStorage(); err != nil {
		return err
	}
	if s.authority, err = openAuthority(dir, s.now()); err != nil {
		return err
	}
	certificate, err := s.authority.vouch(s.hosts(), s.now())
	if err != nil {
		return err
	}
	s.tunnels = newTunnels(s, certificate)
	return nil
}

// Start resumes the cluster, the instances and the unfinished operations of an emulator that was closed or killed. It
// returns when the cluster and the instances serve. The error names those that do not.
func (s *Server) Start(ctx context.Context) error {
	return errors.Join(s.resumeInstances(ctx), s.resumeClusters(ctx))
}

// Close interrupts the work of operations, stops the instances and closes the store. The next Start resumes
// interrupted operations. Close leaves the cluster running, because it belongs to its runtime.
func (s *Server) Close() error {
	s.stop()
	tunnels := s.tunnels.stop()
	s.work.Wait()
	return errors.Join(tunnels, s.stopInstances(), s.store.close())
}

// background runs the work of a long-running operation.
func (s *Server) background(work func(context.Context)) {
	s.work.Go(func() {
		work(s.running)
	})
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		s.openTunnel(w, r)
		return
	}
	if r.URL.Path == tokenPath {
		s.serveToken(w, r)
		return
	}
	answer, err := s.serveSelected(r)
	if err != nil {
		if strings.HasPrefix(s.canonicalPath(r), xmlPrefix) {
			writeXMLError(w, err)
			return
		}
		writeError(w, err)
		return
	}
	if own, ok := answer.(http.Handler); ok {
		own.ServeHTTP(w, r)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// serveSelected answers one call with the fields that the call selects.
func (s *Server) serveSelected(r *http.Request) (any, error) {
	fields := r.URL.Query().Get("fields")
	if fields == "" {
		return s.serve(r)
	}
	selected, err := parseFields(fields)
	if err != nil {
		return nil, err
	}
	answer, err := s.serve(r)
	if _, own := answer.(http.Handler); own || err != nil {
		return answer, err
	}
	return selected.of(answer)
}

func (s *Server) serve(r *http.Request) (any, error) {
	svc, found, vars := s.find(r)
	if svc == nil {
		return nil, notFound("%s is no API of the emulated Google Cloud.", r.URL.Path)
	}
	c := &call{ctx: r.Context(), request: r, vars: vars}
	var err error
	if c.who, err = s.authenticate(r, svc); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, notFound("%s %s is not emulated by the emulated Google Cloud (%s).", r.Method, r.URL.Path, svc.name)
	}
	err = s.store.view(func(tx *bbolt.Tx) error {
		about := vars["project"]
		if svc.project != nil {
			if about, err = svc.project(tx, c); err != nil {
				return err
			}
		}
		if c.project, err = findProject(tx, about); err != nil {
			return err
		}
		if err := s.requireEnabled(tx, svc, c.project); err != nil {
			return err
		}
		return s.requireQuotaProject(tx, svc, c)
	})
	if err != nil {
		return nil, err
	}
	if found.permission != "" {
		on := onProject(c)
		if found.on != nil {
			on = found.on(c)
		}
		err := s.store.view(func(tx *bbolt.Tx) error {
			return s.authorize(tx, svc, c.who, found.permission, on)
		})
		if err != nil {
			return nil, err
		}
	}
	return found.handle(c)
}
