package source

import (
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

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
		return nil, invalid("the password does not decrypt the SSH key: %v", err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, invalid("the SSH key is not valid: %v", err)
	}
	return pem.EncodeToMemory(block), nil
}
