package bootstrap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/bootstrap"
)

func TestBothGenerationsOfASecretExistDuringARotation(t *testing.T) {
	for name, c := range map[string]struct {
		generations        string
		passphrases, keys  []string
		passphrase, former any
	}{
		"before":            {"", []string{"team-web-passphrase"}, []string{"team-web-key"}, "canary-team-web-passphrase", nil},
		"during":            {"[1,0]", []string{"team-web-passphrase", "team-web-passphrase-1"}, []string{"team-web-key", "team-web-key-1"}, "canary-team-web-passphrase-1", "canary-team-web-passphrase"},
		"after":             {"[1]", []string{"team-web-passphrase-1"}, []string{"team-web-key-1"}, "canary-team-web-passphrase-1", nil},
		"during the second": {"[2,1]", []string{"team-web-passphrase-1", "team-web-passphrase-2"}, []string{"team-web-key-1", "team-web-key-2"}, "canary-team-web-passphrase-2", "canary-team-web-passphrase-1"},
	} {
		t.Run(name, func(t *testing.T) {
			config := onGoogleCloud()
			config["tenantKeys"] = "true"
			if c.generations != "" {
				config["keyGenerations"], config["passphraseGenerations"] = c.generations, `{"web":`+c.generations+`}`
			}
			engine := google(t, config)
			if err := run(engine); err != nil {
				t.Fatal(err)
			}
			names := func(kind, part string) []string {
				var found []string
				for _, resource := range engine.OfType(kind) {
					if name := resource.URN[strings.LastIndex(resource.URN, "::")+2:]; strings.HasPrefix(name, part) {
						found = append(found, name)
					}
				}
				slices.Sort(found)
				return found
			}
			if got := names(phraseType, "team-web-"); !slices.Equal(got, c.passphrases) {
				t.Errorf("the passphrases are %v, want %v", got, c.passphrases)
			}
			if got := names(keyType, "team-web-"); !slices.Equal(got, c.keys) {
				t.Errorf("the keys are %v, want %v", got, c.keys)
			}
			if got := names(phraseType, "team-api-"); !slices.Equal(got, []string{"team-api-passphrase"}) {
				t.Errorf("the passphrases of another team are %v", got)
			}
			web := engine.Output(t, "tenants").Value.(map[string]any)["web"].(map[string]any)
			if web["passphrase"] != c.passphrase || web["formerPassphrase"] != c.former {
				t.Errorf("handed over are %v and %v, want %v and %v", web["passphrase"], web["formerPassphrase"], c.passphrase, c.former)
			}
			if _, former := web["formerCredentials"]; former != (c.former != nil) {
				t.Errorf("a former key is handed over: %v", former)
			}
		})
	}
}

func TestWrongGenerationsAreRefused(t *testing.T) {
	for _, generations := range []string{"[0,1]", "[1,1]", "[2,1,0]", "[-1]"} {
		config := onGoogleCloud()
		config["tenantKeys"], config["keyGenerations"], config["passphraseGenerations"] = "true", generations, `{"web":`+generations+`}`
		err := run(google(t, config))
		for _, want := range []string{"passphraseGenerations.web is", "keyGenerations is"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", generations, err, want)
			}
		}
	}
	config := onGoogleCloud()
	config["keyGenerations"] = "[1]"
	if err := run(google(t, config)); err == nil || !strings.Contains(err.Error(), "keyGenerations is for keys only") {
		t.Errorf("without keys: %v", err)
	}
	if got := bootstrap.PassphraseURNs("dev", "team-web", []int{2, 1}); len(got) != 2 || !strings.HasSuffix(got[0], "::team-web-passphrase-2") {
		t.Errorf("the passphrases are %v", got)
	}
}
