package gcp_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/gcp"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// documentedRoles returns the roles that the reference page lists for each type, by the type's token.
func documentedRoles(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), "docs", "reference", "emulated-google-cloud.md"))
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for token := range gcp.Package().Resources {
		tokens[regexp.MustCompile(`/\w+:`).ReplaceAllString(token, ":")] = token
	}
	roles := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.HasPrefix(cells[1], " `gcp:") {
			continue
		}
		for _, word := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			token := tokens[word[1]]
			if token == "" {
				t.Errorf("the page lists %s, which the plugin does not have", word[1])
			}
			for _, role := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
				roles[token] = append(roles[token], role[1])
			}
		}
	}
	return roles
}

// cycle creates an object, reads it and deletes it. It stops at the first error.
func (pl plugin) cycle(typ string, inputs property.Map) error {
	o, err := pl.try(typ, inputs)
	if err != nil {
		return err
	}
	if _, err := pl.provider.Read(pl.t.Context(), p.ReadRequest{ID: o.id, Urn: urn(typ, "it"), Properties: o.state, Inputs: o.inputs}); err != nil {
		return err
	}
	return pl.provider.Delete(pl.t.Context(), p.DeleteRequest{ID: o.id, Urn: urn(typ, "it"), Properties: o.state, OldInputs: o.inputs})
}

// TestRolesInTheReference creates an object of every type as a service account that has exactly the roles in the
// reference page. The creation must fail if any one of the roles is missing.
func TestRolesInTheReference(t *testing.T) {
	documented := documentedRoles(t)
	for token := range gcp.Package().Resources {
		if len(documented[token]) == 0 {
			t.Errorf("the page lists no roles for %s", token)
		}
	}
	newStateKey(t, newCloudWith(t, newDatabases(t)))
	owner := newPlugin(t, property.Map{})
	account := owner.create(accountType, props("accountId", "deployer"))
	deployer := owner.as(owner.create(keyType, props("serviceAccountId", account.state.Get("name").AsString())))
	owner.create(accountType, props("accountId", "target"))
	grant := func(role string) object {
		return owner.create(memberType, props("project", project, "role", role, "member", account.state.Get("member").AsString()))
	}
	// The quota is one cluster and one instance, so that the types of both come first. Then the owner creates a cluster
	// and an instance for the other objects.
	order := slices.SortedFunc(maps.Keys(documented), func(a, b string) int {
		return strings.Compare(fmt.Sprint(a != clusterType && a != instanceType, a), fmt.Sprint(b != clusterType && b != instanceType, b))
	})
	prepared := false
	for _, typ := range order {
		if !prepared && typ != clusterType && typ != instanceType {
			prepared = true
			owner.create(clusterType, fromJSON(t, typical[clusterType]))
			owner.create(instanceType, fromJSON(t, typical[instanceType], `{"name": "shared"}`))
			owner.create(bucketType, fromJSON(t, typical[bucketType], `{"name": "strata-shared"}`))
		}
		t.Run(typ, func(t *testing.T) {
			granted := map[string]object{}
			for _, role := range documented[typ] {
				granted[role] = grant(role)
			}
			if err := deployer.cycle(typ, attempt(t, typ, 0)); err != nil {
				t.Errorf("with %v: %v", documented[typ], err)
			}
			for i, role := range documented[typ] {
				owner.remove(granted[role])
				if err := deployer.cycle(typ, attempt(t, typ, i+1)); err == nil {
					t.Errorf("%s is unnecessary", role)
				}
				granted[role] = grant(role)
			}
			for _, o := range granted {
				owner.remove(o)
			}
		})
	}
}

// attempt returns inputs of a type with new names for each attempt, because a failed creation may leave an object
// behind.
func attempt(t *testing.T, typ string, number int) property.Map {
	t.Helper()
	target := "projects/" + project + "/serviceAccounts/target@" + project + ".iam.gserviceaccount.com"
	own := map[string]string{
		accountType:      `{"accountId": "team-%d"}`,
		keyType:          `{"serviceAccountId": "` + target + `"}`,
		bindingType:      `{"serviceAccountId": "` + target + `"}`,
		actAsType:        `{"serviceAccountId": "` + target + `"}`,
		memberType:       `{}`,
		keyMemberType:    `{"cryptoKeyId": "` + stateKey + `"}`,
		roleType:         `{"roleId": "tenant%d"}`,
		serviceType:      `{"service": "pubsub.googleapis.com"}`,
		clusterType:      `{"name": "own-%d", "deletionProtection": false}`,
		poolType:         `{"name": "own-%d"}`,
		instanceType:     `{"name": "own-%d", "deletionProtection": false}`,
		databaseType:     `{"name": "own%d", "instance": "shared"}`,
		userType:         `{"name": "own%d", "instance": "shared"}`,
		bucketType:       `{"name": "strata-own-%d"}`,
		bucketMemberType: `{"bucket": "strata-shared"}`,
	}
	return fromJSON(t, typical[typ], strings.ReplaceAll(own[typ], "%d", fmt.Sprint(number)))
}
