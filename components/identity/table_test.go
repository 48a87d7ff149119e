package identity_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/strata-platform/strata/components/identity"
)

// granting matches the permissions that let their holder grant permissions, or act as another account.
var granting = regexp.MustCompile(`setIamPolicy$|^iam\.roles\.(create|update|undelete)$` +
	`|^iam\.serviceAccounts\.(actAs|getAccessToken|getOpenIdToken|implicitDelegation|signBlob|signJwt)$|^iam\.serviceAccountKeys\.(create|enable)$` +
	`|^container\.(clusterRoleBindings|roleBindings)\.(create|update)$|^container\.(clusterRoles|roles)\.(bind|escalate)$|^container\.secrets\.(get|list)$`)

// TestEveryRoleThatGrantsOrImpersonatesIsRefused checks Google's own roles for the services of the emulated Google Cloud.
func TestEveryRoleThatGrantsOrImpersonatesIsRefused(t *testing.T) {
	table, err := os.ReadFile("../../internal/local/cloud/core/authz/roles.txt")
	if err != nil {
		t.Fatal(err)
	}
	role, tried := "", 0
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "roles/") {
			role, _, _ = strings.Cut(line, " ")
			continue
		}
		kind, verbs, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for verb := range strings.FieldsSeq(verbs) {
			if !granting.MatchString(kind + "." + verb) {
				continue
			}
			tried++
			if len(identity.CheckRoles([]string{role}, nil)) == 0 {
				t.Errorf("%s holds %s.%s and is accepted", role, kind, verb)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d permissions were looked at: the table is not read", tried)
	}
}
