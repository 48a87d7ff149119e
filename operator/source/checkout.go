package source

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

const (
	// outputSize bounds how much of git's output is kept, in bytes.
	outputSize = 64 << 10

	// stopTimeout is how long git may take to stop in good order.
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

// user returns the user name of an ssh address, which ssh needs and which is not
// secret. user returns nil for other addresses.
func user(address *url.URL) *url.Userinfo {
	if address.Scheme != "ssh" || address.User == nil {
		return nil
	}
	return url.User(address.User.Username())
}

// usePassword returns the settings that make git use the credentials for the
// repository's host only. After a redirect to another host, git has no credentials.
func (c *checkout) usePassword(address *url.URL, auth GitAuth) [][2]string {
	name, password := auth.User, auth.Password
	switch {
	case auth.Token != "":
		// A forge that accepts tokens accepts any user name with them.
		name, password = "git", auth.Token
	case name == "" && password == "" && address.User != nil:
		name = address.User.Username()
		password, _ = address.User.Password()
	}
	if name == "" && password == "" {
		return nil
	}
	c.env = append(c.env, "STRATA_GIT_USER="+name, "STRATA_GIT_PASSWORD="+password)
	c.secret = append(c.secret, password)
	return [][2]string{{
		"credential." + address.Scheme + "://" + address.Host + ".helper",
		`!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$STRATA_GIT_USER" "$STRATA_GIT_PASSWORD"; }; f`,
	}}
}

// useKey writes the key and the known hosts for ssh, and sets the ssh command.
func (c *checkout) useKey(address *url.URL, auth GitAuth) error {
	if address.User == nil {
		address.User = url.User("git")
	}
	// ssh finds the user's own keys by the system's user database, not by HOME. These
	// options restrict it to the given key.
	options := []string{
		"ssh", "-F", os.DevNull, "-o", "BatchMode=yes", "-o", "ConnectTimeout=30", "-o", "ForwardAgent=no",
		"-o", "PreferredAuthentications=publickey", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
	}
	hosts := filepath.Join(c.home, "known_hosts")
	if err := os.WriteFile(hosts, []byte(auth.KnownHosts), 0o600); err != nil {
		return fmt.Errorf("write the known hosts of %s: %w", c.shown, err)
	}
	options = append(options, "-o", "StrictHostKeyChecking=yes", "-o", "UpdateHostKeys=no",
		"-o", "UserKnownHostsFile="+quote(hosts), "-o", "GlobalKnownHostsFile="+systemHosts)
	if auth.SSHKey == "" {
		options = append(options, "-o", "IdentityFile=none")
	} else {
		key, err := privateKey(auth)
		if err != nil {
			return err
		}
		file := filepath.Join(c.home, "key")
		if err := os.WriteFile(file, key, 0o600); err != nil {
			return fmt.Errorf("write the key for %s: %w", c.shown, err)
		}
		options = append(options, "-i", quote(file))
	}
	c.env = append(c.env, "GIT_SSH_COMMAND="+strings.Join(options, " "), "GIT_SSH_VARIANT=ssh")
	return nil
}

// quote quotes a path for the shell, because git starts ssh by a shell.
func quote(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// privateKey returns the key without a password, so that ssh does not ask for one.
func privateKey(auth GitAuth) ([]byte, error) {
	text := []byte(strings.TrimSpace(auth.SSHKey) + "\n")
	if auth.SSHKeyPassword == "" {
		if _, err := ssh.ParseRawPrivateKey(text); err != nil {
			return nil, invalid("the SSH key is not valid: %v", err)
		}
		return text, nil
	}
	key, err := ssh.ParseRawPrivateKeyWithPassphrase(text, []byte(auth.SSHKeyPassword))
	if err != nil {
		return nil, invalid("the SSH key cannot be decrypted with its password: %v", err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, invalid("the SSH key is not valid: %v", err)
	}
	return pem.EncodeToMemory(block), nil
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
		return "", fmt.Errorf("what is there is no commit: %w", err)
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
	path := sandbox.Value(c.env, "PATH")
	git, err := sandbox.LookPath("git", path)
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

var (
	// mark matches the prefix of the lines in which git reports an error.
	mark = regexp.MustCompile(`^(fatal|error|remote): `)

	// sshFailure matches the lines in which ssh reports an error.
	sshFailure = regexp.MustCompile(`Permission denied|verification failed|Connection (refused|closed|timed out)|Could not resolve`)
)

// hostKeyAdvice follows ssh's message about an unknown host key.
const hostKeyAdvice = ": the host's key is not the one that is listed, or none is: ask whoever runs the host for it (ssh-keyscan shows what a host claims), " +
	"and add its line under the key known_hosts to the Secret with the SSH key"

// failure returns git's error messages as an error of one line, without secrets.
func (c *checkout) failure(ctx context.Context, err error, out string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("it took too long")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	message := err.Error()
	var said []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		text := mark.ReplaceAllString(line, "")
		if text != "" && (text != line || sshFailure.MatchString(line)) {
			said = append(said, text)
		}
	}
	if said == nil {
		said = strings.Fields(out)
	}
	if len(said) > 0 {
		message = strings.Join(said, "; ")
	}
	if strings.Contains(out, "Host key verification failed") {
		message = "Host key verification failed" + hostKeyAdvice
	}
	const longest = 500
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest], "") + "..."
	}
	for _, secret := range c.secret {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "[secret]")
		}
	}
	return errors.New(strings.Join(strings.Fields(message), " "))
}

// beginning keeps the first outputSize bytes that are written to it.
type beginning struct{ bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	if room := outputSize - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
