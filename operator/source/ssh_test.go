package source_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/strata-platform/strata/operator/source"
)

// serveSSH serves the repository over ssh to clients with the key. serveSSH returns its
// address and the known_hosts line of its host key.
func (r repository) serveSSH(key ssh.PublicKey) (url, hosts string) {
	r.t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		r.t.Skip(err)
	}
	host, _ := newKey(r.t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "git" || string(offered.Marshal()) != string(key.Marshal()) {
			return nil, fmt.Errorf("%s is not known", c.User())
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.session(conn, config)
		}
	}()
	address := listener.Addr().String()
	return "ssh://git@" + address + r.dir, knownhosts.Line([]string{address}, host.PublicKey())
}

// session runs the command that git requests, for one client.
func (r repository) session(conn net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		for req := range requests {
			_ = req.Reply(req.Type == "exec" || req.Type == "env", nil)
			if req.Type != "exec" {
				continue
			}
			var command struct{ Line string }
			if ssh.Unmarshal(req.Payload, &command) == nil && strings.HasPrefix(command.Line, "git-upload-pack ") {
				cmd := exec.Command("git", "upload-pack", r.dir)
				cmd.Stdin, cmd.Stdout = channel, channel
				_ = cmd.Run()
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{}))
			channel.Close()
		}
	}
}

// newKey generates a key and returns it with its signer.
func newKey(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer, key
}

// written returns a key in the format of a key file.
func written(t *testing.T, key ed25519.PrivateKey, password string) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if password != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(password))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

func TestKeyOpensARepositoryOverSSH(t *testing.T) {
	r := newRepository(t)
	commit := r.commit("Pulumi.yaml", "name: shop")
	signer, key := newKey(t)
	_, other := newKey(t)
	url, hosts := r.serveSSH(signer.PublicKey())
	_, others := r.serveSSH(signer.PublicKey())
	listed := strings.Fields(hosts)[0] + " " + strings.SplitN(others, " ", 2)[1]
	cases := map[string]struct {
		auth    source.GitAuth
		message string
	}{
		"a key and a known host":       {source.GitAuth{SSHKey: written(t, key, ""), KnownHosts: hosts}, ""},
		"an encrypted key":             {source.GitAuth{SSHKey: written(t, key, "open sesame"), SSHKeyPassword: "open sesame", KnownHosts: hosts}, ""},
		"a host that nobody lists":     {source.GitAuth{SSHKey: written(t, key, "")}, "Host key verification failed: the known hosts list no key of this host, or another one: get the key from the administrator of the host"},
		"a host whose list is no list": {source.GitAuth{SSHKey: written(t, key, ""), KnownHosts: "no line of a list"}, "to the key known_hosts of the Secret with the SSH key"},
		"a wrong password of a key":    {source.GitAuth{SSHKey: written(t, key, "open sesame"), SSHKeyPassword: "wrong"}, "the password does not decrypt the SSH key"},
		"another key":                  {source.GitAuth{SSHKey: written(t, other, ""), KnownHosts: hosts}, "Permission denied"},
		"a host with another key":      {source.GitAuth{SSHKey: written(t, key, ""), KnownHosts: listed}, "Host key verification failed"},
		"a host that is not known":     {source.GitAuth{SSHKey: written(t, key, ""), KnownHosts: "elsewhere ssh-ed25519 AAAA\n"}, "Host key verification failed"},
		"no key where one is required": {source.GitAuth{KnownHosts: hosts}, "Permission denied"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, revision, err := fetch(t, source.Git{URL: url, Branch: "main", Auth: c.auth})
			if c.message == "" && (err != nil || revision != commit) {
				t.Fatalf("revision %q, error %v", revision, err)
			}
			if c.message != "" && (err == nil || !strings.Contains(err.Error(), c.message)) {
				t.Errorf("error %v, want one that holds %q", err, c.message)
			}
		})
	}
}

func TestOnlyTheGivenKeyLogsIn(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip(err)
	}
	// This script replaces ssh. The script prints the settings that ssh would use with
	// these arguments, in the form of git's errors.
	tools := t.TempDir()
	script := "#!/bin/sh\n" + program + ` -G "$@" | grep -E '^(batchmode|stricthost|globalknown|identit|preferredauth|forwardagent)' | sed 's/^/fatal: /' >&2` + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(tools, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	_, key := newKey(t)
	for name, c := range map[string]struct {
		auth source.GitAuth
		file string
	}{
		"a key":  {source.GitAuth{SSHKey: written(t, key, "")}, `identityfile /\S+/git-\d+/key;`},
		"no key": {source.GitAuth{}, "identityfile none;"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := source.Git{URL: "git@host:shop.git", Branch: "main", Auth: c.auth}.Head(t.Context(), t.TempDir())
			if err == nil {
				t.Fatal("no error")
			}
			said := err.Error() + ";"
			for _, want := range []string{"batchmode yes;", "identitiesonly yes;", "identityagent none;", "preferredauthentications publickey;", "forwardagent no;", "stricthostkeychecking (yes|true);", "globalknownhostsfile /etc/ssh/ssh_known_hosts;", c.file} {
				if !regexp.MustCompile(want).MatchString(said) {
					t.Errorf("ssh is called without %q: %s", want, said)
				}
			}
			if strings.Count(said, "identityfile") != 1 {
				t.Errorf("ssh offers more than one key: %s", said)
			}
		})
	}
}
