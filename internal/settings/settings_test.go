package settings_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/internal/settings"
)

type login struct {
	User string         `json:"user"`
	Pass handoff.Secret `json:"pass"`
}

type sample struct {
	Name   string           `setting:"name" required:"true"`
	Region string           `setting:"region" default:"here"`
	Guard  bool             `setting:"guard" default:"true"`
	Count  int              `setting:"count" default:"3"`
	Roles  []string         `setting:"roles" default:"[\"a\",\"b\"]"`
	Token  handoff.Secret   `setting:"token"`
	Logins map[string]login `setting:"logins" secret:"true"`
}

func (s sample) Problems() []string {
	if s.Count < 1 {
		return []string{"count must be positive"}
	}
	return nil
}

func decode(engine *pulumitest.Engine) (sample, error) {
	var got sample
	err := engine.Run("proj", "dev", func(ctx *pulumi.Context) error { return settings.Decode(ctx, &got) })
	return got, err
}

func TestDecodeFillsInDefaults(t *testing.T) {
	got, err := decode(&pulumitest.Engine{Config: map[string]string{"name": "n"}})
	if err != nil {
		t.Fatal(err)
	}
	want := sample{Name: "n", Region: "here", Guard: true, Count: 3, Roles: []string{"a", "b"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
}

func TestEncodeAndDecodeAreInverse(t *testing.T) {
	want := sample{
		Name: "n", Region: "there", Guard: false, Count: 7, Roles: []string{"x"},
		Token: "hush", Logins: map[string]login{"web": {User: "u", Pass: "p"}},
	}
	config, err := settings.Encode("proj", want)
	if err != nil {
		t.Fatal(err)
	}
	engine := &pulumitest.Engine{Config: map[string]string{}}
	for key, value := range config {
		short := strings.TrimPrefix(key, "proj:")
		engine.Config[short] = value.Value
		if value.Secret {
			engine.Secrets = append(engine.Secrets, short)
		}
	}
	got, err := decode(engine)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
	for _, key := range []string{"proj:token", "proj:logins"} {
		if !config[key].Secret {
			t.Errorf("%s is not a secret", key)
		}
	}
}

func TestDecodeReportsEveryProblemAtOnce(t *testing.T) {
	_, err := decode(&pulumitest.Engine{Config: map[string]string{
		"guard": "perhaps", "count": "many", "roles": "a,b", "token": "canary-one", "logins": `{"web":{"user":"canary-two"}}`,
	}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"stack dev of project proj", "name is missing", `guard is "perhaps"`, "boolean", `count is "many"`, "integer",
		"roles is", "array", "token is in plain text", "logins is in plain text", "pulumi config set",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("error shows a secret: %v", err)
	}
}

func TestDecodeAppliesTheStructsOwnRules(t *testing.T) {
	_, err := decode(&pulumitest.Engine{Config: map[string]string{"name": "n", "count": "0"}})
	if err == nil || !strings.Contains(err.Error(), "count must be positive") {
		t.Errorf("error is %v", err)
	}
}

func TestTheStructsOwnRulesAreAppliedBesideOtherProblems(t *testing.T) {
	_, err := decode(&pulumitest.Engine{Config: map[string]string{"count": "0"}})
	for _, want := range []string{"name is missing", "count must be positive"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q: %v", want, err)
		}
	}
	_, err = decode(&pulumitest.Engine{Config: map[string]string{"name": "n", "count": "many"}})
	if err == nil || strings.Contains(err.Error(), "count must be positive") {
		t.Errorf("the error reports an invalid setting twice: %v", err)
	}
}

func TestAWrongSecretIsNotShown(t *testing.T) {
	_, err := decode(&pulumitest.Engine{
		Config: map[string]string{"name": "n", "logins": `{"canary`}, Secrets: []string{"logins"},
	})
	if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "logins is not of type object") {
		t.Errorf("error is %v", err)
	}
}

func TestASecretPrintsAsAPlaceholder(t *testing.T) {
	printed := fmt.Sprintf("%v %+v %#v %s %q", sample{Token: "canary"}, sample{Token: "canary"}, sample{Token: "canary"},
		handoff.Secret("canary"), handoff.Secret("canary"))
	if strings.Contains(printed, "canary") {
		t.Errorf("printed %s", printed)
	}
}
