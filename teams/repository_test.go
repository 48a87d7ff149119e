package teams_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"golang.org/x/crypto/ssh"

	"github.com/strata-platform/strata/teams"
)

// openPGPKeys returns the public and the private key of a new entity in armor.
func openPGPKeys(t *testing.T) (public, private string) {
	t.Helper()
	entity, err := openpgp.NewEntity("Web", "", "web@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var texts [2]strings.Builder
	for i, kind := range []string{openpgp.PublicKeyType, openpgp.PrivateKeyType} {
		out, err := armor.Encode(&texts[i], kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		write := entity.Serialize
		if i == 1 {
			write = func(w io.Writer) error { return entity.SerializePrivate(w, nil) }
		}
		if err := write(out); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		texts[i].WriteString("\n")
	}
	return texts[0].String(), texts[1].String()
}

// sshPublicKey returns a new public key as a line of authorized_keys.
func sshPublicKey(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(key))
}

func TestGitRepositoriesOfATeam(t *testing.T) {
	public, private := openPGPKeys(t)
	line := sshPublicKey(t)
	keys := func(texts ...string) string {
		encoded, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("  publishers: %s\n", encoded)
	}
	for name, test := range map[string]struct{ fields, says string }{
		"a range of tags":                      {"  versions: 1.x\n", ""},
		"signed commits":                       {"  verify: HEAD\n" + keys(public), ""},
		"signed commits of another branch":     {"  branch: live\n  verify: HEAD\n" + keys(line), ""},
		"signed tags":                          {"  versions: 1.x\n  verify: Tag\n" + keys(public, line), ""},
		"signed tags of signed commits":        {"  source: git\n  versions: '>=1.4.0'\n  verify: TagAndHEAD\n" + keys(strings.TrimSpace(line)), ""},
		"submodules":                           {"  recurseSubmodules: true\n", ""},
		"submodules of signed commits":         {"  recurseSubmodules: true\n  verify: HEAD\n" + keys(public), ""},
		"no range":                             {"  versions: newest\n", `.versions "newest" is not a range of versions`},
		"a branch and a range":                 {"  branch: main\n  versions: 1.x\n", "has branch and versions"},
		"another mode":                         {"  verify: head\n" + keys(public), `.verify "head" must be HEAD, Tag, TagAndHEAD`},
		"unsigned tags of signed commits":      {"  versions: 1.x\n  verify: HEAD\n" + keys(public), ".verify HEAD does not check the tags in versions"},
		"signed tags of a branch":              {"  verify: Tag\n" + keys(public), ".verify Tag needs versions"},
		"a signature of anybody":               {"  verify: HEAD\n", "has only one of verify and publishers"},
		"keys that verify nothing":             {keys(public), "has only one of verify and publishers"},
		"submodules of another commit":         {"  recurseSubmodules: true\n  versions: 1.x\n", "has recurseSubmodules and versions"},
		"a key of cosign":                      {"  verify: HEAD\n" + keys("-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n"), ".publishers[0] is neither a public key of OpenPGP"},
		"a private key":                        {"  verify: HEAD\n" + keys(public, private), ".publishers[1] is neither a public key of OpenPGP"},
		"a private key that is called public":  {"  verify: HEAD\n" + keys(strings.ReplaceAll(private, "PRIVATE", "PUBLIC")), ".publishers[0] is neither"},
		"two keys in one text":                 {"  verify: HEAD\n" + keys(public+public), ".publishers[0] is neither"},
		"two keys of SSH in one text":          {"  verify: HEAD\n" + keys(line+line), ".publishers[0] is neither"},
		"an authority in place of a key":       {"  verify: HEAD\n" + keys("cert-authority "+line), ".publishers[0] is neither"},
		"artifacts signed with a key of a Git": {"  source: oci\n" + keys(public), ".publishers[0] is not a public key in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := teams.Decode([]byte(header + "teams:\n- name: web\n" + test.fields))
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("the error is %v, want one line with %q", err, test.says)
				}
				if err != nil && strings.Contains(err.Error(), "BEGIN") {
					t.Errorf("the error %v quotes a key", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if team := file.Teams[0]; team.Tags() != strings.Contains(test.fields, "versions") || team.Tags() != (team.Branch == "") {
				t.Errorf("the team is %+v", team)
			}
		})
	}
}

// TestEditsKeepTheSourceOfATeam adds and removes another team.
func TestEditsKeepTheSourceOfATeam(t *testing.T) {
	public, _ := openPGPKeys(t)
	key := "      - |\n        " + strings.ReplaceAll(strings.TrimSpace(public), "\n", "\n        ") + "\n      - " + sshPublicKey(t)
	content := header + "teams:\n  - name: web\n    versions: 1.x\n    verify: TagAndHEAD\n    publishers:\n" + key + "  - name: docs\n    recurseSubmodules: true\n"
	added, err := teams.Add([]byte(content), teams.Team{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if want := content + "  - name: shop\n"; string(added) != want {
		t.Errorf("the file is\n%s\nwant\n%s", added, want)
	}
	removed, err := teams.Remove(added, "shop")
	if err != nil || string(removed) != content {
		t.Errorf("%v: the file is\n%s\nwant\n%s", err, removed, content)
	}
	left, err := teams.Remove([]byte(content), "web")
	if want := header + "teams:\n  - name: docs\n    recurseSubmodules: true\n"; err != nil || string(left) != want {
		t.Errorf("%v: the file is\n%s\nwant\n%s", err, left, want)
	}
}
