package canary

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/test/stratatest"
)

// marks are texts that only keys and tokens contain, whatever their value is.
var marks = canaries{
	"a private key":             "PRIVATE KEY-----\nM",
	"a refresh token of Google": "1//emulated-",
	"an access token of Google": "ya29.emulated-",
}

// longLived are the places in which a key or a token may be, as patterns. why is a text of the table of long-lived secrets in
// docs/security.md, which gives the reason.
var longLived = []struct{ place, why string }{
	{"home: kubernetes/pki/*", "`kubernetes/pki`"},
	{"home: kubernetes/*.kubeconfig", "`kubernetes/admin.kubeconfig`"},
	{"home: google/store.db", "the records of the emulated Google Cloud"},
	{"home: google/authority.pem", "`google/authority.pem`"},
	{"home: credentials/*", "`credentials`"},
	{"state: state/platform/.pulumi/stacks/*", "the states of layers 1 and 2, encrypted"},
}

// maxTokenLife is the longest time from the issue to the expiry of a token of the API server: an hour, and the seven seconds that the
// API server adds to the tokens of pods.
const maxTokenLife = time.Hour + 7*time.Second

var (
	tokens       = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.(eyJ[A-Za-z0-9_-]{8,})\.[A-Za-z0-9_-]{16,}`)
	longLivedDoc = regexp.MustCompile(`(?s)## Long-lived secrets\n(.*?)\n## `)
)

// longTokens returns a description of each JSON Web Token in a text that is valid for longer than maxTokenLife.
func longTokens(text []byte) (found []string) {
	for _, match := range tokens.FindAllSubmatch(text, -1) {
		payload, err := base64.RawURLEncoding.DecodeString(string(match[1]))
		var claims struct {
			Subject string  `json:"sub"`
			Issued  float64 `json:"iat"`
			Expires float64 `json:"exp"`
		}
		if err != nil || json.Unmarshal(payload, &claims) != nil {
			continue
		}
		if life := time.Duration((claims.Expires - claims.Issued) * float64(time.Second)); claims.Expires == 0 || life > maxTokenLife {
			found = append(found, fmt.Sprintf("a token of %q for %s", claims.Subject, life))
		}
	}
	return found
}

func TestTokensWithoutAnEndAreFound(t *testing.T) {
	token := func(claims string) string {
		return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2lnbmF0dXJlc2lnbmF0dXJl"
	}
	for text, want := range map[string]int{
		token(`{"sub":"pod","iat":1000,"exp":4607}`):        0,
		"x " + token(`{"sub":"old","iat":1000}`) + "\n":     1,
		token(`{"sub":"year","iat":1000,"exp":31537000}`):   1,
		token(`{"sub":"hour","iat":1000,"exp":4700}`) + " ": 1,
		"eyJ.eyJ.x": 0,
	} {
		if found := longTokens([]byte(text)); len(found) != want {
			t.Errorf("found %q in %s, want %d", found, text, want)
		}
	}
}

// searchMaterial searches everything that the platform has written for keys and long-lived tokens, also for those that no test
// knows: files of the home, Secrets and ConfigMaps of the cluster, decrypted states, and the environments of its processes.
func searchMaterial(t *testing.T, p *stratatest.Platform, passphrases []string, environments map[string]bool) {
	t.Helper()
	find := marks.finder()
	used := map[string]bool{}
	see := func(place string, text []byte) {
		found := append(find.find(text), longTokens(text)...)
		if len(found) == 0 {
			return
		}
		for _, l := range longLived {
			prefix, below := strings.CutSuffix(l.place, "*")
			if ok, _ := path.Match(l.place, place); ok || below && strings.HasPrefix(place, prefix) {
				used[l.place] = true
				return
			}
		}
		t.Errorf("%s contains %s: no secret may live there, or docs/security.md gives the reason", place, strings.Join(found, ", "))
	}

	files(t, p.Home, func(name string, raw []byte) { see("home: "+name, raw) })
	states := 0
	eachState(t, p.Home, passphrases, func(place string, plain []byte) {
		states++
		see(place, plain)
	})
	if states < 3 {
		t.Errorf("the test has decrypted only %d states", states)
	}
	secrets, err := p.Kubernetes().CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets.Items {
		for key, value := range secret.Data {
			see(fmt.Sprintf("Secret %s/%s, %s", secret.Namespace, secret.Name, key), value)
		}
	}
	maps, err := p.Kubernetes().CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range maps.Items {
		for key, value := range one.Data {
			see(fmt.Sprintf("ConfigMap %s/%s, %s", one.Namespace, one.Name, key), []byte(value))
		}
	}
	if len(secrets.Items) < 3 || len(environments) < 10 {
		t.Errorf("the test has read only %d Secrets and %d environments", len(secrets.Items), len(environments))
	}
	for line := range environments {
		program, _, _ := strings.Cut(line, "\x00")
		see("environment of "+program, []byte(line))
	}

	doc, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	section := longLivedDoc.FindSubmatch(doc)
	for _, l := range longLived {
		if !used[l.place] {
			t.Errorf("%s contains no key and no token: remove it from the list", l.place)
		}
		if section == nil || !strings.Contains(string(section[1]), l.why) {
			t.Errorf("the long-lived secrets of docs/security.md do not name %s", l.why)
		}
	}
}

// eachState calls see with each state of a layer and of a team in a home, decrypted by one of the passphrases.
func eachState(t *testing.T, dir string, passphrases []string, see func(place string, plain []byte)) {
	t.Helper()
	err := backend.EachState(t.Context(), dir, 1<<30, func(file string, raw []byte, err error) bool {
		if err != nil {
			t.Errorf("read the state %s: %v", file, err)
			return true
		}
		var state struct {
			Checkpoint struct {
				Latest map[string]any `json:"latest"`
			} `json:"checkpoint"`
		}
		if json.Unmarshal(raw, &state) != nil || state.Checkpoint.Latest == nil {
			return true
		}
		if err := reveal(t, state.Checkpoint.Latest, passphrases); err != nil {
			t.Errorf("decrypt the state %s: %v", file, err)
			return true
		}
		plain, err := json.Marshal(state.Checkpoint.Latest)
		if err != nil {
			t.Error(err)
		}
		see("state: "+file, plain)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reveal decrypts the secrets in a state's deployment with the right one of the passphrases.
func reveal(t *testing.T, deployment map[string]any, passphrases []string) error {
	t.Helper()
	provider, _ := deployment["secrets_providers"].(map[string]any)
	state, _ := provider["state"].(map[string]any)
	salt, _ := state["salt"].(string)
	parts := strings.SplitN(salt, ":", 3)
	if len(parts) != 3 {
		return fmt.Errorf("its secrets provider is %v", provider["type"])
	}
	decoded, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	for _, passphrase := range passphrases {
		key := config.NewSymmetricCrypterFromPassphrase(passphrase, decoded)
		if _, err := key.DecryptValue(t.Context(), parts[2]); err == nil {
			return redact.Reveal(t.Context(), deployment, key)
		}
	}
	return fmt.Errorf("none of %d passphrases opens it", len(passphrases))
}
