// Package supervisor runs one home in the background: the emulated Google Cloud, the Git server, the control plane and
// its node. There is one supervisor per home; later calls of strata find it by its control socket.
package supervisor

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloud/sql/dolt"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/webhook"
	"github.com/strata-platform/strata/internal/toolchain"
)

// Engineer is the platform engineer's identity in the emulated Google Cloud. It owns the home's project.
const Engineer = "engineer@strata.local"

// GitSecret is the name of the home's secret from which the Git accounts' passwords derive.
const GitSecret = "git"

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

type supervisor struct {
	Options
	began     time.Time
	google    *cloud.Server
	databases *dolt.Runtime
	git       *gitserver.Server
	cluster   *cluster
	googleURL string
	gitURL    string

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
	// A program may have left its process group, as git does when it tidies up.
	return errors.Join(err, endLeftovers(context.WithoutCancel(ctx), o))
}

// endLeftovers ends the leftover processes of a killed supervisor's programs, and finishes an interrupted erasure of
// data.
func endLeftovers(ctx context.Context, o Options) error {
	ended, err := process.EndLeftovers(ctx, workFolders(o.Home)...)
	for _, name := range ended {
		o.Log.Warn("ended what was left behind", "process", name)
	}
	return errors.Join(err, controlplane.FinishErase(o.Home))
}

// workFolders returns the folders that contain the HOME of every program that a supervisor starts.
func workFolders(h home.Home) []string {
	return []string{h.Kubernetes(), h.Pods(), h.Google(), h.Git()}
}

func run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &supervisor{Options: o, began: time.Now(), ctx: ctx, stop: stop}

	googleListener, err := o.Home.Listen("google")
	if err != nil {
		return err
	}
	defer googleListener.Close()
	gitListener, err := o.Home.Listen("git")
	if err != nil {
		return err
	}
	defer gitListener.Close()
	s.googleURL = "http://" + googleListener.Addr().String()
	s.gitURL = "http://" + gitListener.Addr().String()
	s.cluster = &cluster{
		home: o.Home, find: o.Toolchain.Path, version: o.Toolchain.Version("kube-apiserver"), log: o.Log, state: ClusterAbsent,
		closing:   ctx.Done(),
		catalogue: catalogue(o.Home, o.Toolchain, s.googleURL, s.gitURL, o.Executable, o.Version),
	}
	if err := s.open(); err != nil {
		return err
	}
	control, err := listenControl(o.Home)
	if err != nil {
		return err
	}
	defer os.Remove(o.Home.Socket())
	return s.serve(ctx, googleListener, gitListener, control)
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
	s.git.Syncs = s.syncs
	s.databases = dolt.New(dolt.Options{
		Dir:    filepath.Join(s.Home.Google(), "sql"),
		Logs:   s.Home.Logs(),
		Binary: func(ctx context.Context) (string, error) { return s.Toolchain.Path(ctx, "dolt") },
	})
	if s.google, err = cloud.New(cloud.Options{Dir: s.Home.Google(), BaseURL: s.googleURL, Clusters: s.cluster, Databases: s.databases}); err != nil {
		return err
	}
	if err := home.WriteFile(filepath.Join(s.Home.Certificates(), "emulated-google-cloud.pem"), s.google.Authority()); err != nil {
		return err
	}
	credentials, err := s.google.EnsureProject(home.Project, Engineer)
	if err != nil {
		return err
	}
	return home.WriteFile(s.Home.EngineerCredentials(), credentials)
}

// serve serves until ctx is done or a server fails. Then it stops everything in the reverse order of its start.
func (s *supervisor) serve(ctx context.Context, google, git, control net.Listener) error {
	secret, err := s.Home.Secret(controlSecret)
	if err != nil {
		return err
	}
	failed := make(chan error, 3)
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
	run(control, s.control(secret))
	s.Log.Info("supervisor runs", "home", s.Home.Dir(), "google", s.googleURL, "git", s.gitURL)

	resumed := make(chan struct{})
	go func() {
		defer close(resumed)
		s.resume(ctx)
	}()
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
	return errors.Join(err, s.google.Close())
}

// resume starts what ran when the home last stopped.
func (s *supervisor) resume(ctx context.Context) {
	if err := s.google.Start(ctx); err != nil && ctx.Err() == nil {
		s.Log.Error("resume the emulated Google Cloud", "error", err)
	}
	if controlplane.Exists(s.Home) {
		if err := s.cluster.start(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("resume the cluster", "error", err)
		}
	}
}

// controlSecret is the name of the home's secret that callers of the control socket present. The socket's mode
// excludes other users. The secret excludes a team's run of Pulumi, which runs as the same user but cannot read the
// home.
const controlSecret = "control"

// control returns the handler of the control socket.
func (s *supervisor) control(secret string) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any, err error) {
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			value = controlError{Error: err.Error()}
		}
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := s.status(r.Context())
		answer(w, status, err)
	})
	mux.HandleFunc("POST /cluster", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, s.cluster.start(r.Context()))
	})
	mux.HandleFunc("POST /repositories/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, s.git.Create(r.Context(), r.PathValue("name")))
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, struct{}{}, nil)
		s.stop()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+secret)) != 1 {
			http.Error(w, "not allowed", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type controlError struct {
	Error string `json:"error"`
}

// listenControl listens on the control socket. The caller holds the home's lock, so an existing socket belongs to a
// killed supervisor.
func listenControl(h home.Home) (net.Listener, error) {
	if err := os.Remove(h.Socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	path, done, err := socketPath(h)
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	defer done()
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	// Only this process may be able to resolve the path. Run removes the file by its real name.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, os.Chmod(h.Socket(), 0o600)
}
