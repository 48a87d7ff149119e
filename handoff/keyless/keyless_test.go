package keyless_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"golang.org/x/oauth2/google"

	"github.com/strata-platform/strata/handoff/keyless"
)

const (
	pool    = "acme-dev.svc.id.goog"
	cluster = "projects/acme-dev/locations/europe-west1-b/clusters/strata"
	email   = "team-web@acme-dev.iam.gserviceaccount.com"
)

func TestGooglesClientAcceptsTheConfiguration(t *testing.T) {
	i := keyless.Identity{Account: email, Audience: keyless.Audience(pool, cluster)}
	if i.Pool() != pool {
		t.Errorf("the pool is %q", i.Pool())
	}
	text, err := i.Configuration("/run/google-token")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := google.CredentialsFromJSONWithType(t.Context(), []byte(text), google.ExternalAccount, "https://www.googleapis.com/auth/cloud-platform"); err != nil {
		t.Error(err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"audience":                          "identitynamespace:" + pool + ":https://container.googleapis.com/v1/" + cluster,
		"token_url":                         "https://sts.googleapis.com/v1/token",
		"service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" + email + ":generateAccessToken",
	} {
		if fields[name] != want {
			t.Errorf("%s is %v, want %s", name, fields[name], want)
		}
	}
}

func TestAnIncompleteIdentityIsNone(t *testing.T) {
	whole := keyless.Audience(pool, cluster)
	for name, i := range map[string]keyless.Identity{
		"nothing":                 {},
		"no account":              {Audience: whole},
		"no audience":             {Account: email},
		"a path in the account":   {Account: "a/../b@acme-dev.iam.gserviceaccount.com", Audience: whole},
		"a query in the account":  {Account: "a?x@acme-dev.iam.gserviceaccount.com", Audience: whole},
		"an account of elsewhere": {Account: "team-web@example.com", Audience: whole},
		"another provider":        {Account: email, Audience: "identitynamespace:" + pool + ":https://issuer.example.com/v1/" + cluster},
		"a cluster without name":  {Account: email, Audience: strings.TrimSuffix(whole, "strata")},
	} {
		if text, err := i.Configuration("/token"); err == nil {
			t.Errorf("%s: the configuration is %s", name, text)
		}
		if _, err := i.Source(t.Context(), nil); err == nil {
			t.Errorf("%s: there is a source of tokens", name)
		}
	}
}

func TestARunActsAsItsGoogleAccountWithoutAKey(t *testing.T) {
	given := map[string]string{"GOOGLE_CREDENTIALS": "", "A": "1"}
	login := &keyless.Login{Identity: keyless.Identity{Account: email, Audience: keyless.Audience(pool, cluster)}}
	used, env, err := login.Use(given, "/run/google-token")
	if err != nil || used != login {
		t.Fatal(used, err)
	}
	if got := env["GOOGLE_CREDENTIALS"]; !strings.Contains(got, `"file":"/run/google-token"`) || !strings.Contains(got, email) || env["A"] != "1" {
		t.Errorf("the variables are %v", env)
	}
	if given["GOOGLE_CREDENTIALS"] != "" {
		t.Error("the variables of the caller have changed")
	}
	for name, login := range map[string]*keyless.Login{"no login": nil, "a key": login} {
		if used, env, err := login.Use(map[string]string{"GOOGLE_CREDENTIALS": "canary-key"}, "/token"); err != nil || used != nil || env["GOOGLE_CREDENTIALS"] != "canary-key" {
			t.Errorf("%s: %v, %v, %v", name, used, env, err)
		}
	}
	if _, _, err := (&keyless.Login{Identity: keyless.Identity{Account: email}}).Use(nil, "/token"); err == nil {
		t.Error("an incomplete identity is accepted")
	}
}

func TestTheErrorOfTheTokenIsThatOfTheSource(t *testing.T) {
	i := keyless.Identity{Account: email, Audience: keyless.Audience(pool, cluster)}
	for name, subject := range map[string]func(context.Context) (string, error){
		"no account":     func(context.Context) (string, error) { return "", errors.New("canary") },
		"an empty token": func(context.Context) (string, error) { return "\n", nil },
	} {
		source, err := i.Source(t.Context(), subject, "scope")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := source.Token(); err == nil || !strings.Contains(err.Error(), "canary") && !strings.Contains(err.Error(), "is empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
