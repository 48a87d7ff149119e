package dolt

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

// folder is the folder with all files of one instance.
type folder string

func (f folder) data() string     { return filepath.Join(string(f), "data") }
func (f folder) temp() string     { return filepath.Join(string(f), "tmp") }
func (f folder) config() string   { return filepath.Join(string(f), "server.yaml") }
func (f folder) home() string     { return filepath.Join(string(f), "dolt") }
func (f folder) address() string  { return filepath.Join(string(f), "address") }
func (f folder) password() string { return filepath.Join(string(f), "root-password") }
func (f folder) uuid() string     { return filepath.Join(string(f), "server-uuid") }

// Needs lists the resources of this machine that an instance's server uses, besides its program and the files that
// every process may use.
type Needs struct {
	// Reads are the files and folders that the server only reads. Writes are the folders that it changes. All of them
	// exist.
	Reads, Writes []string
	// Address is the server's listen address, with its port. The server connects to nothing.
	Address string
}

// needs returns the needs of the instance's server.
func (f folder) needs(address string) Needs {
	return Needs{
		Reads:   []string{f.config(), f.home()},
		Writes:  []string{f.data(), f.temp()},
		Address: net.JoinHostPort(address, engine.Port),
	}
}

// prepare creates the missing files of the folder. It returns the server's needs and the password of the runtime's
// root user.
func (f folder) prepare(ctx context.Context) (needs Needs, password string, err error) {
	for _, dir := range []string{f.data(), f.temp(), filepath.Join(f.home(), ".dolt")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Needs{}, "", err
		}
	}
	address, err := keep(f.address(), chooseAddress)
	if err != nil {
		return Needs{}, "", err
	}
	if err := waitFree(ctx, address); err != nil {
		return Needs{}, "", err
	}
	if password, err = keep(f.password(), newPassword); err != nil {
		return Needs{}, "", err
	}
	id, err := keep(f.uuid(), func() (string, error) { return uuid.NewString(), nil })
	if err != nil {
		return Needs{}, "", err
	}
	if err := os.WriteFile(f.config(), f.serverConfig(address), 0o600); err != nil {
		return Needs{}, "", err
	}
	return f.needs(address), password, os.WriteFile(filepath.Join(f.home(), ".dolt", "config_global.json"), globalConfig(id), 0o600)
}

// globalConfig returns Dolt's global configuration. It turns off telemetry, and sets the values that Dolt would
// otherwise write to the file itself.
func globalConfig(id string) []byte {
	settings, _ := json.Marshal(map[string]string{ // Strings never fail.
		"metrics.disabled": "true", "user.email": "strata@localhost", "user.name": "strata", "sqlserver.global.server_uuid": id,
	})
	return append(settings, '\n')
}

// noFolder is a path that cannot exist.
const noFolder = "/dev/null/none"

// serverConfig returns the server's configuration in YAML. It quotes strings as JSON, which YAML accepts. Dolt expands
// environment variables in its configuration, so a dollar sign must be doubled.
func (f folder) serverConfig(address string) []byte {
	quoted := func(path string) string {
		text, _ := json.Marshal(path) // A string never fails.
		return strings.ReplaceAll(string(text), "$", "$$")
	}
	return []byte(strings.Join([]string{
		"log_level: warning",
		"listener:",
		"  host: " + quoted(address),
		"  port: " + engine.Port,
		fmt.Sprintf("  max_connections: %d", maxConnections),
		"data_dir: " + quoted(f.data()),
		"cfg_dir: " + quoted(filepath.Join(f.data(), ".doltcfg")),
		"privilege_file: " + quoted(filepath.Join(f.data(), ".doltcfg", "privileges.db")),
		// An event runs as the definer that its text names, even as the server's root. Users cannot turn events on.
		"behavior:",
		"  event_scheduler: \"OFF\"",
		// Every user may SELECT INTO OUTFILE, whatever privileges the user has. Dolt reads an empty path as every
		// folder, and compares other paths by prefix, so the path must be one that cannot exist.
		"system_variables:",
		"  secure_file_priv: " + quoted(noFolder),
		"",
	}, "\n"))
}

// keep returns the content of a file. If the file does not exist, keep creates it atomically with generated content.
func keep(path string, generate func() (string, error)) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	content, err := generate()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path+".new", []byte(content+"\n"), 0o600); err != nil {
		return "", err
	}
	return content, os.Rename(path+".new", path)
}

// newPassword returns a random password with 192 bits.
func newPassword() (string, error) {
	secret := make([]byte, 24)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(secret), nil
}

// chooseAddress returns a loopback address with free ports. It avoids 127.0.0.0/16, the addresses of resolvers and
// control planes.
func chooseAddress() (string, error) {
	var last error
	for range 20 {
		var b [3]byte
		if _, err := rand.Read(b[:]); err != nil {
			return "", err
		}
		address := netip.AddrFrom4([4]byte{127, 1 + b[0]%254, b[1], 1 + b[2]%254}).String()
		if last = checkFree(address); last == nil {
			return address, nil
		}
	}
	return "", fmt.Errorf("find a free loopback address: %w", last)
}

// waitFree waits up to freeTimeout for an address to become free, because the server of a killed emulator may still be
// exiting.
func waitFree(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, freeTimeout)
	defer cancel()
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		err := checkFree(address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// checkFree returns an error if the server of an instance, or the emulator for the instance's connectors, cannot listen
// on an address.
func checkFree(address string) error {
	for _, port := range []string{engine.Port, engine.ProxyPort} {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, port))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return fmt.Errorf("another program listens on %s:%s, the reserved address of this instance: end that program first: %w", address, port, err)
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			return fmt.Errorf("this system has no loopback address %s: Linux has all of 127.0.0.0/8, elsewhere add it as an alias of the loopback interface", address)
		case err != nil:
			return err
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}
