package credentials_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/strata-platform/strata/internal/local/machine/images/credentials"
)

// login returns the user and password for an image.
func login(t *testing.T, keychain authn.Keychain, image string) string {
	t.Helper()
	reference, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	found, err := keychain.Resolve(reference.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := found.Authorization()
	if err != nil {
		t.Fatal(err)
	}
	return config.Username + "/" + config.Password
}

func TestTheMostSpecificSecretIsUsed(t *testing.T) {
	keychain, err := credentials.Secrets(
		credentials.Secret{Name: "new", Data: map[string][]byte{".dockerconfigjson": []byte(`{"auths":{
			"https://index.docker.io/v1/":{"auth":"aHViOnNlY3JldA=="},
			"registry.example.com":{"username":"all","password":"1"},
			"registry.example.com/team":{"username":"team","password":"2"},
			"*.wild.example.com":{"username":"wild","password":"3"},
			"localhost:5000":{"username":"port","password":"4"}}}`)}},
		credentials.Secret{Name: "old", Data: map[string][]byte{".dockercfg": []byte(`{"old.example.com":{"username":"old","password":"5"}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]string{
		"wordpress":                         "hub/secret",
		"docker.io/me/app:1":                "hub/secret",
		"registry.example.com/other":        "all/1",
		"registry.example.com/team/app":     "team/2",
		"registry.example.com/teammate/app": "all/1",
		"a.wild.example.com/app":            "wild/3",
		"a.b.wild.example.com/app":          "/",
		"localhost:5000/app":                "port/4",
		"localhost:5001/app":                "/",
		"old.example.com/app":               "old/5",
		"example.com/app":                   "/",
	} {
		if got := login(t, keychain, image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestErrorsNameTheSecretAndNoCredential(t *testing.T) {
	for want, data := range map[string]map[string][]byte{
		"Secret web/pull: .dockerconfigjson is not": {".dockerconfigjson": []byte(`{"auths":{"a":{"auth":"hunter2!"}}}`)},
		"Secret web/pull: .dockercfg is not":        {".dockercfg": []byte(`hunter2!`)},
		"Secret web/pull: it has neither":           {"password": []byte(`hunter2!`)},
	} {
		_, err := credentials.Secrets(credentials.Secret{Name: "web/pull", Data: data})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// configured writes a configuration of Docker and a credential helper, and makes both those of the user.
func configured(t *testing.T, config, helper string) {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "docker-credential-test"), []byte("#!/bin/sh\n"+helper), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("DOCKER_CONFIG", home)
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
}

func TestTheUsersDockerConfigurationAndHelpersAreUsed(t *testing.T) {
	configured(t, `{"auths":{"plain.example.com":{"auth":"bWU6cGxhaW4="}},"credHelpers":{"helped.example.com":"test"}}`,
		`echo '{"ServerURL":"","Username":"helper","Secret":"helped"}'`)
	secret, err := credentials.Secrets(credentials.Secret{Data: map[string][]byte{".dockercfg": []byte(`{"plain.example.com/team":{"username":"team","password":"1"}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	keychain := credentials.First(secret, credentials.User())
	for image, want := range map[string]string{
		"plain.example.com/app":      "me/plain",
		"plain.example.com/team/app": "team/1",
		"helped.example.com/app":     "helper/helped",
		"other.example.com/app":      "/",
	} {
		if got := login(t, keychain, image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestAFailingHelperIsReportedWithoutItsOutput(t *testing.T) {
	configured(t, `{"credsStore":"test"}`, "echo hunter2; exit 1")
	reference, err := name.ParseReference("example.com/app")
	if err != nil {
		t.Fatal(err)
	}
	_, err = credentials.User().Resolve(reference.Context())
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "docker login example.com") {
		t.Errorf("the error is %v", err)
	}
}
