package gitserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// address matches the paths of Git clients, in the smart and in the dumb HTTP protocol.
var address = regexp.MustCompile(`^/([a-z0-9-]+)\.git/(info/refs|git-upload-pack|git-receive-pack|HEAD|` +
	`objects/(info/(packs|alternates|http-alternates)|[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]{40,64}\.(pack|idx)))$`)

// ServeHTTP serves /NAME.git.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The deadline ends requests of clients that send or read slowly, or not at all. Setting it fails for a connection
	// without deadlines.
	end, control := time.Now().Add(s.Limits.Time), http.NewResponseController(w)
	_ = errors.Join(control.SetReadDeadline(end), control.SetWriteDeadline(end))
	repository, writes, ok := asked(r)
	account := s.account(r)
	if account == "" && ok && !writes && slices.Contains(s.Public, repository) {
		account = Reader(repository)
	}
	if account == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="strata git"`)
		http.Error(w, "the Git server requires a user name and a password", http.StatusUnauthorized)
		return
	}
	if !ok || !allowed(account, repository, writes) {
		// The message must not reveal to other accounts whether a repository exists.
		http.Error(w, fmt.Sprintf("account %s may not do this with repository %s", account, repository), http.StatusForbidden)
		return
	}
	pushes := writes && r.Method == http.MethodPost
	release := s.slot(r.Context(), account, repository, pushes)
	if release == nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("account %s has too many open requests to repository %s: try again", account, repository), http.StatusServiceUnavailable)
		return
	}
	release = sync.OnceFunc(release)
	defer release()
	if r.Method == http.MethodPost {
		// git-http-backend reads a body of unknown length to its end, but loops forever on a body that ends before its
		// length. Git sends a large push in chunks. The cgi package rejects chunks, because CGI does not support them.
		r.ContentLength, r.TransferEncoding = -1, nil
		r.Header.Del("Content-Length")
	}
	if pushes {
		s.push(w, r, account, repository, release)
		return
	}
	s.backend(account).ServeHTTP(w, r)
}

// account returns the account of a request; empty without a valid login.
func (s *Server) account(r *http.Request) string {
	account, password, given := r.BasicAuth()
	if !given || s.logins.Authentic(account, password) {
		return account
	}
	if !s.AnyUser {
		return ""
	}
	names, err := List(s.root)
	if err != nil {
		return ""
	}
	for _, name := range names {
		for _, account := range []string{name, Reader(name)} {
			if s.logins.Authentic(account, password) {
				return account
			}
		}
	}
	return ""
}

// asked returns the repository of a request, and whether the request writes.
func asked(r *http.Request) (repository string, writes, ok bool) {
	parts := address.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		repository, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git")
		return repository, true, false
	}
	// Both requests of a push name the service git-receive-pack (git, http-protocol).
	services := r.URL.Query()["service"]
	return parts[1], slices.Contains(services, "git-receive-pack") || parts[2] == "git-receive-pack", len(services) <= 1
}

// slot waits for a slot for a request. It returns the function that frees the slot, or nil if none becomes free in time.
func (s *Server) slot(ctx context.Context, account, repository string, pushes bool) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, s.Limits.Wait)
	defer cancel()
	if pushes {
		return s.slots.take(ctx, "push "+account+" "+repository, pushesAtOnce)
	}
	return s.slots.take(ctx, "fetch "+account+" "+repository, fetchesAtOnce)
}

// bounded runs the command in its arguments with limits that its children inherit. Not every system can limit memory.
const bounded = `ulimit -t "$1"; ulimit -v "$2" 2>/dev/null; shift 2; exec "$@"`

// backend returns a handler that runs git-http-backend for one request of an account.
func (s *Server) backend(account string, env ...string) *cgi.Handler {
	all := append(s.hermetic(), "GIT_PROJECT_ROOT="+s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+account)
	config := s.Limits.config()
	config["core.hooksPath"] = s.hooks()
	for i, key := range slices.Sorted(maps.Keys(config)) {
		all = append(all, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, config[key]))
	}
	seconds, kilobytes := max(int(s.Limits.Time.Seconds()), 1), s.Limits.Memory>>10
	return &cgi.Handler{
		Path: "/bin/sh",
		// -C shows the home's folder in the list of processes.
		Args: []string{
			"-c", bounded, "sh", fmt.Sprint(seconds), fmt.Sprint(kilobytes), s.git, "-C", s.root, "http-backend",
		},
		Dir:    s.root,
		Env:    append(append(all, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config))), env...),
		Logger: s.errors,
		Stderr: s.errors.Writer(),
	}
}

// commandsSize is the maximum size in bytes of a push's list of updates, which precedes the pack.
const commandsSize = 4 << 20

// lastRead is the time that a client has for the end of its request after git has read the pack.
const lastRead = 5 * time.Second

// push passes a push to git, and answers the questions of the hooks that git runs before and after it changes anything.
// It calls release when another push may follow.
func (s *Server) push(w http.ResponseWriter, r *http.Request, account, repository string, release func()) {
	question, err := newQuestion(s.root)
	if err != nil {
		s.errors.Printf("accept a push to repository %s: %v", repository, err)
		http.Error(w, "the server cannot accept pushes now: see its log", http.StatusInternalServerError)
		return
	}
	a := &answer{Server: s, repository: repository}
	notify := sync.OnceFunc(func() {
		if s.pushed != nil {
			s.pushed(repository)
		}
	})
	judged := make(chan struct{})
	var answered sync.WaitGroup
	answered.Go(func() {
		defer close(judged)
		question.answer(s.Limits.Refs, func(p proposal) (problems []string) {
			if problems, a.findings = s.judge(r.Context(), account, repository, p); len(problems) == 0 {
				s.receive(r.Context(), account, repository, p)
			}
			return problems
		})
	})
	answered.Go(func() {
		question.tell(s.Limits.Refs, func(options []string, updates []update, say func(string)) {
			notify()
			release()
			<-judged // git runs this hook after the first one
			control := http.NewResponseController(w)
			a.tell(r.Context(), control, options, updates, say)
			// git has read the pack. A client that keeps its request open must not keep the server's descriptors.
			_ = control.SetReadDeadline(time.Now().Add(lastRead))
		})
	})
	r.Body = http.MaxBytesReader(w, r.Body, s.Limits.Pack+commandsSize)
	s.backend(account, "STRATA_PUSH="+question.folder).ServeHTTP(flushing{w, http.NewResponseController(w)}, r)
	question.close()
	answered.Wait()
	notify()
}

// flushing sends each part of a response at once, so that the client of a push sees the lines of a hook while it runs.
type flushing struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer.
func (f flushing) Write(data []byte) (int, error) {
	n, err := f.ResponseWriter.Write(data)
	return n, errors.Join(err, f.control.Flush())
}

// folder returns the folder of a repository.
func (s *Server) folder(repository string) string { return filepath.Join(s.root, repository+".git") }
