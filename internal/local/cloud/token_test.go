package cloud_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud"
)

// login exchanges a key file for an access token.
func login(t *testing.T, key []byte) (string, error) {
	t.Helper()
	config, err := google.JWTConfigFromJSON(key, cloudPlatform)
	if err != nil {
		t.Fatal(err)
	}
	token, err := config.TokenSource(t.Context()).Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// tokens returns a token source for a key file.
func (c *emulator) tokens(key []byte) oauth2.TokenSource {
	c.t.Helper()
	config, err := google.JWTConfigFromJSON(key, cloudPlatform)
	if err != nil {
		c.t.Fatal(err)
	}
	return config.TokenSource(c.t.Context())
}

// ownerTokens returns a token source for the project's owner.
func (c *emulator) ownerTokens() oauth2.TokenSource {
	c.t.Helper()
	login, err := google.CredentialsFromJSONWithType(c.t.Context(), c.engineer, google.AuthorizedUser, cloudPlatform)
	if err != nil {
		c.t.Fatal(err)
	}
	return login.TokenSource
}

// token returns an access token for a key file. A failure ends the test.
func (c *emulator) token(key []byte) string {
	c.t.Helper()
	token, err := c.tokens(key).Token()
	if err != nil {
		c.t.Fatal(err)
	}
	return token.AccessToken
}

// ask makes a call with an access token and returns the status and the body of the response.
func (c *emulator) ask(method, path, token, body string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

const projectPath = "/cloudresourcemanager/v1/projects/" + projectID

func TestTokenEndsWithItsKeyItsAccountOrAfterAnHour(t *testing.T) {
	tests := map[string]func(t *testing.T, c *emulator, email, key string){
		"key deleted": func(t *testing.T, c *emulator, _, key string) {
			if _, err := c.owner().iam.Projects.ServiceAccounts.Keys.Delete(key).Do(); err != nil {
				t.Fatal(err)
			}
		},
		"account disabled": func(t *testing.T, c *emulator, email, _ string) {
			if _, err := c.owner().iam.Projects.ServiceAccounts.Disable("projects/-/serviceAccounts/"+email, &iam.DisableServiceAccountRequest{}).Do(); err != nil {
				t.Fatal(err)
			}
		},
		"account deleted": func(t *testing.T, c *emulator, email, _ string) {
			if _, err := c.owner().iam.Projects.ServiceAccounts.Delete("projects/-/serviceAccounts/" + email).Do(); err != nil {
				t.Fatal(err)
			}
		},
		"hour over": func(_ *testing.T, c *emulator, _, _ string) {
			c.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			c := newEmulator(t, false)
			email, file := c.account("team-web", "roles/viewer")
			token, err := login(t, file)
			if err != nil {
				t.Fatal(err)
			}
			if status, body := c.ask("GET", projectPath, token, ""); status != http.StatusOK {
				t.Fatalf("the emulator rejects the token: %d %s", status, body)
			}
			var fields struct {
				ID string `json:"private_key_id"`
			}
			if err := json.Unmarshal(file, &fields); err != nil {
				t.Fatal(err)
			}
			end(t, c, email, "projects/-/serviceAccounts/"+email+"/keys/"+fields.ID)
			if status, body := c.ask("GET", projectPath, token, ""); status != http.StatusUnauthorized {
				t.Errorf("the emulator still accepts the token: %d %s", status, body)
			}
			if _, err := login(t, file); err == nil {
				t.Error("the emulator still issues tokens for the key")
			}
		})
	}
}

func TestUserinfo(t *testing.T) {
	c := newEmulator(t, false)
	email, file := c.account("team-web")
	made, err := c.owner().iam.Projects.ServiceAccounts.Get("projects/-/serviceAccounts/" + email).Do()
	if err != nil {
		t.Fatal(err)
	}
	owner, err := c.ownerTokens().Token()
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{
		c.token(file):     `{"email":"` + email + `","email_verified":true,"sub":"` + made.UniqueId + `"}`,
		owner.AccessToken: `{"email":"` + engineer + `","email_verified":true,"sub":"`,
	} {
		status, body := c.ask("GET", "/openidconnect/v1/userinfo", token, "")
		if status != 200 || !strings.HasPrefix(compact(t, body), want) {
			t.Errorf("response is %d %s; want %s", status, body, want)
		}
	}
	if status, body := c.ask("GET", "/openidconnect/v1/userinfo", "ya29.x", ""); status != 401 {
		t.Errorf("the response to an unknown caller is %d %s", status, body)
	}
}

func TestTokenSurvivesRestart(t *testing.T) {
	c := newEmulator(t, false)
	_, file := c.account("team-web", "roles/viewer")
	token, err := login(t, file)
	if err != nil {
		t.Fatal(err)
	}
	before := c.engineer
	c.restart(false)
	if _, err := refresh(t, before); err != nil {
		t.Errorf("the engineer's login ended with the restart: %v", err)
	}
	if status, body := c.ask("GET", projectPath, token, ""); status != http.StatusOK {
		t.Errorf("the emulator rejects the token after the restart: %d %s", status, body)
	}
}

func TestALoginOfAUserEndsAfterAnHour(t *testing.T) {
	c := newEmulator(t, false)
	now := time.Now()
	c.SetClock(func() time.Time { return now })
	first, err := c.Login(projectID, engineer)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(cloud.LoginLifetime - time.Minute)
	second, err := c.Login(projectID, engineer)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"the first": first, "the second": second} {
		if _, err := refresh(t, file); err != nil {
			t.Errorf("%s login, before it expires: %v", name, err)
		}
	}
	now = now.Add(time.Minute)
	if _, err := refresh(t, first); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("the first login, after an hour: %v", err)
	}
	token, err := refresh(t, second)
	if err != nil {
		t.Fatalf("the second login, after a minute: %v", err)
	}
	if status, body := c.ask("GET", projectPath, token, ""); status != http.StatusOK {
		t.Errorf("the emulator rejects the token of the second login: %d %s", status, body)
	}
	// The next login removes what has expired, and no file has the secrets.
	if _, err := c.Login(projectID, engineer); err != nil {
		t.Fatal(err)
	}
	if _, err := refresh(t, first); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("the first login, after the next: %v", err)
	}
	store, err := os.ReadFile(filepath.Join(c.dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]string
	if err := json.Unmarshal(second, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client_secret", "refresh_token"} {
		if bytes.Contains(store, []byte(fields[name])) {
			t.Errorf("the records contain the %s of a login", name)
		}
	}
}

// refresh returns an access token for the credentials file of a user.
func refresh(t *testing.T, file []byte) (string, error) {
	t.Helper()
	credentials, err := google.CredentialsFromJSONWithType(t.Context(), file, google.AuthorizedUser, cloudPlatform)
	if err != nil {
		t.Fatal(err)
	}
	token, err := credentials.TokenSource.Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

func TestTokenEndpointRejectsInvalidRequests(t *testing.T) {
	c := newEmulator(t, false)
	_, file := c.account("team-web")
	other := newEmulator(t, false)
	otherEmail, _ := other.account("team-web")
	var fields map[string]string
	if err := json.Unmarshal(c.engineer, &fields); err != nil {
		t.Fatal(err)
	}
	form := func(change map[string]string) url.Values {
		form := url.Values{"grant_type": {"refresh_token"}}
		for _, name := range []string{"client_id", "client_secret", "refresh_token"} {
			form.Set(name, fields[name])
		}
		for name, value := range change {
			form.Set(name, value)
		}
		return form
	}
	for name, test := range map[string]struct {
		form url.Values
		code int
		want string
	}{
		"unknown client":        {form(map[string]string{"client_id": "x"}), 401, "invalid_client"},
		"wrong client secret":   {form(map[string]string{"client_secret": "x"}), 401, "invalid_client"},
		"wrong refresh token":   {form(map[string]string{"refresh_token": "x"}), 400, "invalid_grant"},
		"another grant":         {url.Values{"grant_type": {"password"}}, 400, "unsupported_grant_type"},
		"no assertion":          {url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}}, 400, "invalid_grant"},
		"assertion without key": {url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {"e30.e30.e30"}}, 400, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := http.PostForm(c.url+"/token", test.form)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != test.code || !strings.Contains(string(body), test.want) {
				t.Errorf("response is %d %s; want %d %s", answer.StatusCode, body, test.code, test.want)
			}
		})
	}
	t.Run("key of another cloud", func(t *testing.T) {
		// The accounts have the same e-mail address in both clouds, so only their keys differ.
		if !strings.Contains(string(file), otherEmail) {
			t.Fatal("the accounts differ")
		}
		foreign := bytes.ReplaceAll(file, []byte(c.url), []byte(other.url))
		if _, err := login(t, foreign); err == nil {
			t.Error("the emulator accepted a key of another cloud")
		}
	})
	t.Run("audience of another cloud", func(t *testing.T) {
		config, err := google.JWTConfigFromJSON(file, cloudPlatform)
		if err != nil {
			t.Fatal(err)
		}
		config.Audience = other.url + "/token"
		if _, err := config.TokenSource(t.Context()).Token(); err == nil || !strings.Contains(err.Error(), "audience") {
			t.Errorf("got %v; want a failed audience check", err)
		}
	})
}

func TestErrorsWithoutAValidToken(t *testing.T) {
	c := newEmulator(t, false)
	for name, test := range map[string]struct{ token, reason, item string }{
		"no token":      {"", "CREDENTIALS_MISSING", "required"},
		"unknown token": {"ya29.x", "ACCESS_TOKEN_EXPIRED", "authError"},
		"forged JWT":    {"e30.e30.e30", "ACCESS_TOKEN_EXPIRED", "authError"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := c.ask("GET", projectPath, test.token, "")
			var answer struct {
				Error struct {
					Code    int
					Status  string
					Errors  []struct{ Reason string }
					Details []struct{ Reason string }
				}
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatal(err)
			}
			got := answer.Error
			if status != 401 || got.Code != 401 || got.Status != "UNAUTHENTICATED" || len(got.Errors) != 1 || got.Errors[0].Reason != test.item ||
				len(got.Details) != 1 || got.Details[0].Reason != test.reason {
				t.Errorf("response is %d %s", status, body)
			}
		})
	}
}
