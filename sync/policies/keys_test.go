package policies_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	stateKey  = "gcpkms://projects/p/locations/l/keyRings/strata/cryptoKeys/web"
	notTheKey = "spec.secretsProvider is not the platform's. Stacks of team web encrypt their secrets with " + stateKey + "; ask the platform team"
)

// testKeys checks the secrets providers of Stacks on a platform with a key for each team. It needs the policy of testDefaults.
func testKeys(t *testing.T, c *cluster, team client.Client) {
	policy := parse(t, "{apiVersion: strata.dev/v1, kind: TenantPolicy, metadata: {name: strata}}")
	patch := func(provider string) {
		t.Helper()
		content := fmt.Sprintf(`{"spec": {"context": {"secretsProvider": %s}}}`, provider)
		if err := c.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType, []byte(content))); err != nil {
			t.Fatal(err)
		}
	}
	gets := func(what, manifest, spec string) {
		t.Helper()
		eventually(t, what, func() error {
			object := parse(t, manifest)
			return errors.Join(team.Create(t.Context(), object, client.DryRunAll), hasSpec(object, spec))
		})
	}
	withKey := strings.TrimSuffix(filled, "}") + ", secretsProvider: '" + stateKey + "'}"
	patch(`"` + stateKey + `"`)
	gets("a Stack gets the key", least, withKey)
	gets("an empty provider gets the key", stack("programRef: {name: x}, secretsProvider: ''"), withKey)
	gets("a Stack may name the key itself", stack("programRef: {name: x}, secretsProvider: '"+stateKey+"'"), withKey)
	for name, provider := range map[string]string{
		"another team's key":  "gcpkms://projects/p/locations/l/keyRings/strata/cryptoKeys/shop",
		"a longer name":       stateKey + "2",
		"a version of it":     stateKey + "/cryptoKeyVersions/1",
		"additional data":     stateKey + "?additional_authenticated_data=eA==",
		"another spelling":    strings.ToUpper(stateKey),
		"another service":     "awskms://alias/web",
		"a passphrase":        "passphrase",
		"the backend's own":   "default",
		"the key and a space": stateKey + " ",
	} {
		if err := refusedBy(try(t, team, stack("programRef: {name: x}, secretsProvider: '"+provider+"'")), "strata-stacks", "strata-stacks", notTheKey); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	patch("null")
	gets("a Stack gets no key", least, filled)
}
