// Package supervisor runs one home in the background: the emulated Google Cloud, the Git server, the control plane and
// its node. There is one supervisor per home; later calls of strata find it by its control socket.
package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/dolt"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/images/registry"
	"github.com/strata-platform/strata/internal/local/machine/login"
	"github.com/strata-platform/strata/internal/local/machine/planner"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/recorder"
	"github.com/strata-platform/strata/internal/local/machine/webhook"
	"github.com/strata-platform/strata/internal/toolchain"
)

// Engineer is the platform engineer's identity in the emulated Google Cloud. It owns the home's project.
const Engineer = "engineer@strata.local"

// GitSecret is the name of the home's secret from which the Git accounts' passwords derive.
const GitSecret = "git"

// FormerGitSecret is the name of the secret from which the passwords derived before a rotation that has not finished. These passwords
// are valid, too.
const FormerGitSecret = "git-former"

// shutdownGrace is how long open requests may take when the supervisor stops.
const shutdownGrace = 5 * time.Second

// Options configures a supervisor. All fields are required.
type Options struct {
	Home      home.Home
	Toolchain *toolchain.Toolchain
	// Executable is the path of strata, which is also the operator and the provider plugins.
	Executable string
	// Version is the version of strata and the tag of the operator's image.
	Version string
	Log     *slog.Logger
}

// supervisor is a running supervisor.
type supervisor struct {
	Options
	began     time.Time
	google    *cloud.Server
	databases *dolt.Runtime
	git       *gitserver.Server
	registry  *registry.Server
	recorder  *recorder.Recorder
	cluster   *cluster
	googleURL string
	gitURL    string
	// registryHost is the host and port of the registry.
	registryHost string

	// ctx ends when the supervisor is to stop. stop ends it.
	ctx  context.Context
	stop context.CancelFunc
}

// Run runs the home until ctx is done or a client asks it to stop. Then it stops everything that it started. It holds
// the home's lock, which it inherits from Client. The kernel frees the lock at the very end of this process, so the
// next holder finds no process and no port in use.
func Run(ctx context.Context, o Options) error {
	if err := o.Home.Inherit(lockFile); err != nil {
		return err
	}
	if err := endLeftovers(ctx, o); err != nil {
		return err
	}
	err := run(ctx, o)
	// A program may have left its process group, as git does for its maintenance.
	return errors.Join(err, endLeftovers(context.WithoutCancel(ctx), o))
}

// endLeftovers ends the leftover processes of a killed supervisor's programs, and finishes an interrupted erasure of
// data.
func endLeftovers(ctx context.Context, o Options) error {
	ended, err := process.EndLeftovers(ctx, workFolders(o.Home)...)
	for _, name := range ended {
		o.Log.Warn("ended a process that an earlier run left behind", "process", name)
	}
	return errors.Join(err, controlplane.FinishErase(o.Home))
}

// workFolders returns the folders that contain the HOME of every program that a supervisor starts.
func workFolders(h home.Home) []string {
	return []string{h.Kubernetes(), h.Pods(), h.Google(), h.Git()}
}

// run serves the home. The caller holds the home's lock.
func run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &supervisor{Options: o, began: time.Now(), ctx: ctx, stop: stop}

	googleListener, err := o.Home.Listen("google")
	if err != nil {
		return err
	}
	defer googleListener.Close()
	// Both URLs are settings of the operator and of Flux, so the cluster needs the ports before it starts.
	gitListener, err := o.Home.Listen("git")
	if err != nil {
		return err
	}
	defer gitListener.Close()
	registryListener, err := o.Home.Listen(RegistryPort)
	if err != nil {
		return err
	}
	defer registryListener.Close()
	s.googleURL = "http://" + googleListener.Addr().String()
	s.registryHost = registryListener.Addr().String()
	s.gitURL = "http://" + gitListener.Addr().String()
	s.cluster = &cluster{
		home: o.Home, find: o.Toolchain.Path, version: o.Toolchain.Version("kube-apiserver"), log: o.Log, state: ClusterAbsent,
		closing:   ctx.Done(),
		catalogue: processCatalogue(o.Home, o.Toolchain, s.googleURL, s.gitURL, "http://"+s.registryHost, o.Executable, o.Version),
	}
	if err := s.open(); err != nil {
		return err
	}
	control, err := listenControl(o.Home)
	if err != nil {
		return err
	}
	defer os.Remove(o.Home.Socket())
	return s.serve(ctx, googleListener, gitListener, registryListener, control)
}

// open opens the stores and creates the project and its engineer.
func (s *supervisor) open() error {
	secret, err := s.Home.Secret(GitSecret)
	if err != nil {
		return err
	}
	hooks := webhook.New(s.ctx, s.cluster, s.address, s.Log)
	if s.git, err = gitserver.New(s.Home.Git(), secret, slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn), hooks.Pushed); err != nil {
		return err
	}
	if s.recorder, err = recorder.Open(s.Home, Engineer, s.cluster.Admin, s.Log); err != nil {
		return err
	}
	s.git.Received = s.recorder.Pushed
	s.git.Logins().Follow(func() ([]string, error) { return s.Home.Secrets(GitSecret, FormerGitSecret) })
	s.git.Syncs, s.git.Follow, s.git.StatusCommand = s.syncs, s.follow, s.Home.Call("status")
	copied := s.Home.Rehearsal()
	s.git.AnyUser, s.git.Public = copied.AnyUser, copied.Public
	s.git.Plans = &planner.Planner{Admin: s.cluster.Admin, Call: s.Home.Call}
	if s.cluster.images, s.registry, err = openImages(s.Home, s.git.Logins()); err != nil {
		return err
	}
	// Receivers know a repository of the registry by the URL in its OCIRepository.
	s.registry.Pushed = webhook.New(s.ctx, s.cluster, func(repository string) string { return "oci://" + s.registryHost + "/" + repository }, s.Log).Pushed
	s.databases = dolt.New(dolt.Options{
		Dir:    filepath.Join(s.Home.Google(), "sql"),
		Logs:   s.Home.Logs(),
		Binary: func(ctx context.Context) (string, error) { return s.Toolchain.Path(ctx, "dolt") },
	})
	if s.google, err = cloud.New(cloud.Options{
		Dir: s.Home.Google(), BaseURL: s.googleURL, Clusters: s.cluster, Databases: s.databases, Audited: s.recorder.Called,
	}); err != nil {
		return err
	}
	s.cluster.google = &google.Cloud{
		Hosts: s.google.Hosts(), Handler: s.google.ForPods(google.Seen), TLS: s.google.TLSConfig(), Instances: s.databases.Addresses,
		Metadata: s.metadata,
	}
	s.cluster.googleOfPods = google.Access{Local: s.googleURL, Authority: s.google.Authority()}
	if err := home.WriteFile(filepath.Join(s.Home.Certificates(), "emulated-google-cloud.pem"), s.google.Authority()); err != nil {
		return err
	}
	credentials, err := s.google.EnsureProject(s.Home.Project(), Engineer)
	if err != nil {
		return err
	}
	return home.WriteFile(s.Home.EngineerCredentials(), credentials)
}

// serve serves until ctx is done or a server fails. Then it stops everything in the reverse order of its start.
func (s *supervisor) serve(ctx context.Context, google, git, images, control net.Listener) error {
	secret, err := s.Home.Secret(controlSecret)
	if err != nil {
		return err
	}
	failed := make(chan error, 4) // one for each server, so that none blocks
	var servers []*http.Server
	run := func(l net.Listener, h http.Handler) {
		server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, server)
		go func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	run(google, s.google)
	run(git, s.git)
	run(images, s.registry)
	defer s.registry.Close()
	run(control, s.control(secret))
	s.Log.Info("supervisor runs", "home", s.Home.Dir(), "google", s.googleURL, "git", s.gitURL)

	resumed := make(chan struct{})
	go func() {
		defer close(resumed)
		s.resume(ctx)
	}()
	go s.cluster.images.Collect(ctx, s.Log)
	go s.recorder.Run(ctx)
	go login.Keep(ctx, s.Home, s.google, Engineer, s.Log)
	select {
	case <-ctx.Done():
	case err = <-failed:
		s.stop()
	}
	<-resumed
	grace, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	// The node's pods stop first, while the servers still answer them.
	s.cluster.stop()
	var group sync.WaitGroup
	for _, server := range servers {
		group.Go(func() {
			if server.Shutdown(grace) != nil {
				server.Close()
			}
		})
	}
	group.Wait()
	return errors.Join(err, s.google.Close(), s.recorder.Close())
}
