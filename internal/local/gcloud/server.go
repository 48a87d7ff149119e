package gcloud

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

	"github.com/strata-platform/strata/internal/local/gcloud/blobs"
)

// Options says where the emulator keeps its state, how clients reach it and what runs its clusters and databases.
type Options struct {
	// Dir holds the store. It is made where it is missing, readable by its owner only.
	Dir string
	// BaseURL is how clients reach the server, for example http://127.0.0.1:4711. Credentials carry it as token_uri, so
	// it must stay the same for as long as they are used.
	BaseURL string
	// Clusters runs the control plane of a cluster. Nil means that clusters cannot be created.
	Clusters ClusterRuntime
	// Databases runs the servers of Cloud SQL instances. Nil means that instances cannot be created.
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

	// running is the context of the work behind long-running operations; work counts that work.
	running context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup

	conditions conditionCache
	sql        sqlServers

	// blobs are the contents of objects; uploading holds the uploads that a request writes to.
	blobs     *blobs.Store
	uploading sync.Map

	authority *authority
	tunnels   *tunnels

	// tokensPruned is when expired tokens were last forgotten; it is for writers of the store only.
	tokensPruned time.Time
}

// New opens the emulator's store. Start resumes what existed when it was last closed.
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

// openParts opens what the emulator keeps beside its store.
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

// Start brings back what existed when the emulator was last closed or killed: the cluster, the instances, and the
// operations that had not ended. It returns when the cluster and the instances serve; the error names what does not.
func (s *Server) Start(ctx context.Context) error {
	return errors.Join(s.resumeInstances(ctx), s.resumeClusters(ctx))
}

// Close ends the work behind operations, stops the instances and closes the store. What had not ended is taken up again
// by the next Start. The cluster belongs to its runtime and is left alone.
func (s *Server) Close() error {
	s.stop()
	tunnels := s.tunnels.stop()
	s.work.Wait()
	return errors.Join(tunnels, s.stopInstances(), s.store.close())
}

// background runs the work behind a long-running operation.
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

// serveSelected answers one call with the part of the answer that the call selects.
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
