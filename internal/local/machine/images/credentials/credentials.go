// Package credentials finds the credentials for a registry: those of the user's Docker configuration, and those of Secrets
// that pods name as imagePullSecrets. Its errors never contain a credential.
package credentials

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Secret is the part of a Secret of Kubernetes that credentials need.
type Secret struct {
	// Name is for errors, such as "team-web/registry".
	Name string
	// Data has the key .dockerconfigjson or .dockercfg. Other keys are ignored.
	Data map[string][]byte
}

// User returns the keychain of the user who runs this process: config.json of Docker with its helpers, or auth.json of Podman.
func User() authn.Keychain { return user{authn.DefaultKeychain} }

// user hides the errors of credential helpers, which contain the output of the helpers.
type user struct{ keychain authn.Keychain }

// Resolve returns the credentials for a repository or registry, or anonymous ones.
func (u user) Resolve(target authn.Resource) (authn.Authenticator, error) {
	found, err := authn.Resolve(context.Background(), u.keychain, target)
	if err != nil {
		return nil, fmt.Errorf("reading the login for %s from Docker's configuration or credential helper failed: run docker login %s", target.RegistryStr(), target.RegistryStr())
	}
	return found, nil
}

// entry is one set of credentials.
type entry struct {
	// host is a registry, with wildcards such as *.example.com, and path a prefix of the repository. The path may be empty.
	host, path string
	auth       authn.AuthConfig
}

// secrets is a keychain from Secrets, with the most specific entries first.
type secrets []entry

// Secrets returns a keychain from imagePullSecrets. For a repository it uses the entry with the longest path, as the kubelet
// does, and the first of several.
func Secrets(from ...Secret) (authn.Keychain, error) {
	var found secrets
	for _, secret := range from {
		auths, err := decode(secret)
		if err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(auths)) {
			host, path := split(key)
			found = append(found, entry{host, path, auths[key]})
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return len(b.path) - len(a.path) })
	return found, nil
}

// decode returns the credentials in a Secret by registry.
func decode(secret Secret) (map[string]authn.AuthConfig, error) {
	const newKey, oldKey = ".dockerconfigjson", ".dockercfg"
	var auths map[string]authn.AuthConfig
	var config struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if content, found := secret.Data[newKey]; found {
		if err := json.Unmarshal(content, &config); err != nil {
			return nil, fmt.Errorf("Secret %s: %s is not a configuration of Docker: create the Secret with kubectl create secret docker-registry", secret.Name, newKey)
		}
		return config.Auths, nil
	}
	if content, found := secret.Data[oldKey]; found {
		if err := json.Unmarshal(content, &auths); err != nil {
			return nil, fmt.Errorf("Secret %s: %s is not a configuration of Docker: create the Secret with kubectl create secret docker-registry", secret.Name, oldKey)
		}
		return auths, nil
	}
	return nil, fmt.Errorf("Secret %s: it has neither the key %s nor %s: create the Secret with kubectl create secret docker-registry", secret.Name, newKey, oldKey)
}

// split returns the registry and the path of a key such as https://index.docker.io/v1/.
func split(key string) (host, path string) {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	host, path, _ = strings.Cut(key, "/")
	path = strings.Trim(path, "/")
	// The API versions, which docker login writes.
	if path == "v1" || path == "v2" {
		path = ""
	}
	if host == "docker.io" || host == "registry-1.docker.io" {
		host = name.DefaultRegistry
	}
	return host, path
}

// Resolve returns the credentials for a repository or registry, or anonymous ones.
func (s secrets) Resolve(target authn.Resource) (authn.Authenticator, error) {
	_, repository, _ := strings.Cut(target.String(), "/")
	for _, e := range s {
		if matches(e.host, target.RegistryStr()) && (e.path == "" || repository == e.path || strings.HasPrefix(repository, e.path+"/")) {
			return authn.FromConfig(e.auth), nil
		}
	}
	return authn.Anonymous, nil
}

// matches reports whether a registry matches a pattern: label by label, so that * matches no dot, and with the same port.
func matches(pattern, registry string) bool {
	patternHost, patternPort, _ := strings.Cut(pattern, ":")
	host, port, _ := strings.Cut(registry, ":")
	patterns, labels := strings.Split(patternHost, "."), strings.Split(host, ".")
	if patternPort != port || len(patterns) != len(labels) {
		return false
	}
	for i := range labels {
		if matched, err := path.Match(patterns[i], labels[i]); err != nil || !matched {
			return false
		}
	}
	return true
}

// First returns a keychain that asks others in their order, and uses the first credentials that are not anonymous.
func First(keychains ...authn.Keychain) authn.Keychain { return authn.NewMultiKeychain(keychains...) }
