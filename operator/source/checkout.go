package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/strata-platform/strata/operator/environ"
	"github.com/strata-platform/strata/operator/sandbox"
)

const (
	// outputSize bounds how much of git's output is kept, in bytes.
	outputSize = 64 << 10

	// stopTimeout is how long git may take to stop gracefully.
	stopTimeout = 5 * time.Second

	// packSize bounds the size of each file that git writes, in bytes. A pack holds the
	// history as well as the files.
	packSize = 512 << 20

	// gitMemory bounds the memory of each of git's processes, in bytes.
	gitMemory = 1 << 30

	// systemHosts is this machine's list of host keys.
	systemHosts = "/etc/ssh/ssh_known_hosts"
)

// checkout runs git commands for one repository.
type checkout struct {
	dir    string
	home   string
	remote string
	shown  string
	env    []string
	secret []string

	// server is the only address that git can reach.
	server sandbox.Endpoint
}

var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22"}

// open prepares git commands for the repository. The commands store the repository in
// dir, unless dir is empty. The commands' own files are in a new folder in parent.
func (g Git) open(parent, dir string) (*checkout, error) {
	address, err := g.address()
	if err != nil {
		return nil, err
	}
	home, err := makeHome(parent)
	if err != nil {
		return nil, err
	}
	port := cmp.Or(address.Port(), defaultPorts[address.Scheme])
	c := &checkout{dir: dir, home: home, shown: shown(address), server: sandbox.To(address.Hostname(), port)}
	if dir == "" {
		c.dir = home
	}
	c.env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		// Git refuses addresses that are local files or commands.
		"GIT_ALLOW_PROTOCOL=https:http:ssh",
	}
	settings := [][2]string{
		{"core.hooksPath", os.DevNull},
		{"gc.auto", "0"},
		// Git unpacks larger files in chunks, not in memory.
		{"core.bigFileThreshold", "8m"},
		{"fetch.recurseSubmodules", "false"},
		{"http.lowSpeedLimit", "1"},
		{"http.lowSpeedTime", "60"},
	}
	if address.Scheme != "ssh" {
		settings = append(settings, c.usePassword(address, g.Auth)...)
	} else if err := c.useKey(address, g.Auth); err != nil {
		c.close()
		return nil, err
	}
	c.env = append(c.env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for i, setting := range settings {
		c.env = append(c.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, setting[1]))
	}
	// A secret must not be an argument, because other processes can read arguments.
	address.User = user(address)
	c.remote = address.String()
	return c, nil
}

func (c *checkout) close() { os.RemoveAll(c.home) }

// fetch fetches the commit or branch of g and returns the commit's hash.
func (c *checkout) fetch(ctx context.Context, g Git) (string, error) {
	if _, err := c.git(ctx, "init", "--quiet", "--template="); err != nil {
		return "", err
	}
	want := g.ref()
	if g.Commit != "" {
		want = g.Commit
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head"}
	if g.Shallow {
		args = append(args, "--depth=1")
	}
	const fetched = "refs/strata/fetched"
	_, err := c.git(ctx, append(args, "--", c.remote, "+"+want+":"+fetched)...)
	if err != nil && g.Commit != "" && strings.Contains(err.Error(), "unadvertised object") {
		// The server does not serve commits by hash, so fetch all branches.
		if _, err = c.git(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", c.remote, "+refs/heads/*:refs/strata/heads/*"); err == nil {
			_, err = c.git(ctx, "update-ref", fetched, g.Commit)
		}
	}
	if err != nil {
		return "", err
	}
	out, err := c.git(ctx, "rev-parse", "--verify", "--quiet", fetched+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("the fetched object is not a commit: %w", err)
	}
	return strings.TrimSpace(out), nil
}

// bounded returns an error if a commit's files are too large or too many.
func (c *checkout) bounded(ctx context.Context, commit string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	count := &counter{stop: cancel}
	if err := c.run(ctx, count, "ls-tree", "-r", "-z", "--format=%(objectsize)", commit); err != nil && count.err == nil {
		return err
	}
	return count.err
}

// counter adds up file sizes that are terminated by zero bytes.
type counter struct {
	stop  func()
	rest  []byte
	files int
	bytes int64
	err   error
}

// Write implements io.Writer. It stops git at the first size that exceeds a limit, before git writes a file.
func (c *counter) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	if len(c.rest) > outputSize && c.err == nil && bytes.IndexByte(c.rest, 0) < 0 {
		c.err, c.rest = errors.New("git does not list the sizes of its files"), nil
		c.stop()
	}
	for {
		size, rest, ok := bytes.Cut(c.rest, []byte{0})
		if !ok || c.err != nil {
			return len(p), nil
		}
		n, _ := strconv.ParseInt(string(size), 10, 64) // A submodule has no size: "-".
		c.rest, c.files, c.bytes = rest, c.files+1, c.bytes+n
		switch {
		case c.files > maxFiles:
			c.err = fmt.Errorf("it holds more than %d files", maxFiles)
		case c.bytes > maxBytes:
			c.err = fmt.Errorf("its files are larger than %d bytes", maxBytes)
		}
		if c.err != nil {
			c.rest = nil
			c.stop()
		}
	}
}

// git runs a git command and returns what it printed.
func (c *checkout) git(ctx context.Context, args ...string) (string, error) {
	out := &beginning{}
	if err := c.run(ctx, out, args...); err != nil {
		return "", c.failure(ctx, err, out.String())
	}
	return out.String(), nil
}

func (c *checkout) run(ctx context.Context, out io.Writer, args ...string) error {
	path := environ.Variable(c.env, "PATH")
	git, err := environ.LookPath("git", path)
	if err != nil {
		return err
	}
	return sandbox.Command{
		Path: git, Args: args, Dir: c.dir, Env: c.env, Output: out, StopTimeout: stopTimeout,
		Confinement: sandbox.Confinement{
			Grants:  append(sandbox.Grants(path, c.dir, c.home), sandbox.Grant{Path: systemHosts}),
			Network: &sandbox.Network{Endpoints: []sandbox.Endpoint{c.server}},
			Limits:  sandbox.Limits{FileSize: packSize, Memory: gitMemory, First: true},
		},
	}.Run(ctx)
}
