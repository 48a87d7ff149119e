package replay_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/strata-platform/strata/internal/replay"
	"github.com/strata-platform/strata/operator/engine/settings"
)

const (
	signature  = "4dabf18193072939515e22adb298388d"
	secretMark = "1b47061264138c4ac30d75fd1eb44270"
)

// stateFile returns a state file with resources, and with secrets that a key encrypts.
func stateFile(salt, resources string) []byte {
	return fmt.Appendf(nil, `{"version": 3, "checkpoint": {"stack": "organization/shop/dev", "latest": {
		"secrets_providers": {"type": "passphrase", "state": {"salt": %q}}, "resources": [%s]}}}`, salt, resources)
}

func TestAStateIsDecrypted(t *testing.T) {
	key, err := settings.NewKey(t.Context(), "a passphrase")
	if err != nil {
		t.Fatal(err)
	}
	ciphertext, err := key.EncryptValue(t.Context(), `{"password":{"`+signature+`":"`+secretMark+`","ciphertext":"\"hunter2hunter2\""}}`)
	if err != nil {
		t.Fatal(err)
	}
	hidden := fmt.Sprintf(`{%q: %q, "ciphertext": %q}`, signature, secretMark, ciphertext)
	file := stateFile(key.Salt, `
		{"urn": "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev", "type": "pulumi:pulumi:Stack", "outputs": {"login": `+hidden+`}},
		{"urn": "urn:pulumi:dev::shop::a:b:C::old", "type": "a:b:C", "custom": true, "delete": true, "id": "1"},
		{"urn": "urn:pulumi:dev::shop::a:b:C::c", "type": "a:b:C", "custom": true, "id": "2", "inputs": {"login": `+hidden+`, "size": 3}}`)
	var keys settings.Crypters
	state, err := replay.Read(t.Context(), file, "a passphrase", &keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Resources) != 1 || state.Resources[0].ID != "2" || !state.Resources[0].In["login"].IsSecret() || state.Output("login", "password") != "hunter2hunter2" {
		t.Errorf("%+v", state)
	}
	for name, c := range map[string]struct {
		file             []byte
		passphrase, want string
	}{
		"another passphrase":      {file, "another", "encrypted with another passphrase"},
		"a damaged ciphertext":    {[]byte(strings.Replace(string(file), ciphertext, "v1:AAAA:AAAA", 2)), "a passphrase", "a ciphertext is damaged"},
		"another provider":        {[]byte(strings.Replace(string(file), `"type": "passphrase"`, `"type": "cloud"`, 1)), "a passphrase", `"cloud"`},
		"something else":          {[]byte("hello"), "", "no state of Pulumi"},
		"an older version":        {[]byte(`{"version": 1}`), "", "no state of Pulumi"},
		"an asset":                {stateFile(key.Salt, `{"urn": "urn:pulumi:dev::shop::a:b:C::c", "type": "a:b:C", "inputs": {"x": {"`+signature+`": "c44067f5952c0a294b673a41bacd8c17"}}}`), "", "an asset"},
		"a state that is too big": {make([]byte, replay.MaxState+1), "", "the limit is"},
	} {
		if _, err := replay.Read(t.Context(), c.file, c.passphrase, &keys); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if empty, err := replay.Read(t.Context(), []byte(`{"version": 3}`), "", &keys); err != nil || len(empty.Resources) > 0 {
		t.Errorf("a stack without a state: %v, %v", empty, err)
	}
}

func TestWhatAProviderHasSetItselfIsNoInput(t *testing.T) {
	state, err := replay.Read(t.Context(), stateFile("", `{"urn": "urn:pulumi:dev::shop::a:b:C::c", "type": "a:b:C", "custom": true, "inputs": {
		"__defaults": ["name", "size"], "name": "c-1a2b3c4", "size": 3, "zone": "b",
		"auth": {"__defaults": [], "issue": true}, "pools": [{"__defaults": ["count"], "count": 1, "type": "x"}]}}`), "", &settings.Crypters{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"auth":{"issue":true},"name":"c-1a2b3c4","pools":[{"type":"x"}],"zone":"b"}`
	if got := shown(t, state.Resources[0].In); got != want {
		t.Errorf("the inputs are %s, want %s", got, want)
	}
}

// values returns the values in JSON. A text that begins with secret: is a secret.
func values(t *testing.T, text string) resource.PropertyMap {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatal(err)
	}
	return hide(resource.NewProperty(resource.NewPropertyMapFromMap(decoded))).ObjectValue()
}

func hide(value resource.PropertyValue) resource.PropertyValue {
	switch {
	case value.IsString():
		if plain, ok := strings.CutPrefix(value.StringValue(), "secret:"); ok {
			return resource.MakeSecret(resource.NewProperty(plain))
		}
	case value.IsObject():
		for name, each := range value.ObjectValue() {
			value.ObjectValue()[name] = hide(each)
		}
	}
	return value
}

// shown returns values as JSON, secrets in plain text.
func shown(t *testing.T, values resource.PropertyMap) string {
	t.Helper()
	raw, err := json.Marshal(values.MapRepl(nil, func(v resource.PropertyValue) (any, bool) {
		if v.IsSecret() {
			return v.SecretValue().Element.MapRepl(nil, nil), true
		}
		return nil, false
	}))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestValuesFollowTheOutputs(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	var words replay.Words
	words.Add("127.0.0.1:25561", "127.0.0.1:31000")
	words.Add("/home/ada/.strata", "/tmp/rehearsal/home")
	words.AddPort(25561, 31000)
	words.Publish(&replay.State{Outputs: values(t, `{"user": "web_wordpress", "port": "3306"}`)})
	words.PublishTexts("3307")
	words.Learn(values(t, `{"result": "secret:old-password", "address": "127.1.2.3", "key": "`+encode(`{"private_key": "old"}`)+`", "short": "a", "resourceVersion": "12345678", "status": {"accepted": "TenantPolicy", "conditions": [{"type": "Established"}]}}`),
		values(t, `{"result": "secret:new-password", "address": "127.9.9.9", "key": "`+encode(`{"private_key": "new"}`)+`", "short": "b", "resourceVersion": "87654321", "status": {"accepted": "", "conditions": [{"type": "NamesAccepted"}]}}`))
	for name, c := range map[string]struct{ in, want string }{
		"a whole output":           {`"secret:old-password"`, `"new-password"`},
		"a part of a text":         {`"secret:mysql://u:old-password@127.1.2.3/db"`, `"mysql://u:new-password@127.9.9.9/db"`},
		"base64":                   {`"secret:` + encode("old-password") + `"`, `"` + encode("new-password") + `"`},
		"an output in base64":      {`"secret:{\"private_key\": \"old\"}"`, `"{\"private_key\": \"new\"}"`},
		"an address":               {`"https://127.0.0.1:25561/x"`, `"https://127.0.0.1:31000/x"`},
		"a path":                   {`"file:///home/ada/.strata/state"`, `"file:///tmp/rehearsal/home/state"`},
		"a port":                   {`25561`, `31000`},
		"another number":           {`3306`, `3306`},
		"a short text":             {`"a"`, `"a"`},
		"a resource's version":     {`"12345678"`, `"12345678"`},
		"an output to come":        {`"TenantPolicy"`, `"TenantPolicy"`},
		"a condition":              {`"Established"`, `"Established"`},
		"a name beside a password": {`{"user": "secret:web_wordpress", "port": "secret:` + encode("3306") + `"}`, `{"port":"` + encode("3306") + `","user":"web_wordpress"}`},
		"a committed port":         {`"secret:3307"`, `"3307"`},
		"a plain text":             {`"anything"`, `"anything"`},
	} {
		if got := shown(t, words.Map(values(t, `{"x": `+c.in+`}`))); got != `{"x":`+c.want+`}` {
			t.Errorf("%s: %s becomes %s, want %s", name, c.in, got, c.want)
		}
	}
	got := shown(t, words.Map(values(t, `{"a": "secret:token-of-a-forge", "b": "secret:Bearer token-of-a-forge", "c": "secret:x1", "d": "secret:`+encode("token-of-a-forge")+`"}`)))
	if strings.Contains(got, "forge") || strings.Contains(got, "x1") || strings.Contains(got, encode("token-of-a-forge")) {
		t.Errorf("secrets stay: %s", got)
	}
	again := shown(t, words.Map(values(t, `{"a": "secret:token-of-a-forge"}`)))
	var first, second map[string]string
	if err := json.Unmarshal([]byte(got), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(again), &second); err != nil || first["a"] != second["a"] {
		t.Errorf("%s and %s are different placeholders (%v)", first["a"], second["a"], err)
	}
}

func TestAForeignStateRunsNothingOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct{ resources, want string }{
		"a database":            {`{"urn": "urn:pulumi:dev::shop::gcp:sql/database:Database::d", "type": "gcp:sql/database:Database", "custom": true}`, ""},
		"a component":           {`{"urn": "urn:pulumi:dev::shop::x:y:Z::c", "type": "x:y:Z"}`, ""},
		"the engine's provider": {`{"urn": "urn:pulumi:dev::shop::pulumi:providers:gcp::default_9_3_0", "type": "pulumi:providers:gcp", "custom": true}`, ""},
		"another package":       {`{"urn": "urn:pulumi:dev::shop::command:local:Command::c", "type": "command:local:Command", "custom": true}`, "a package that a rehearsal does not have"},
		"a provider":            {`{"urn": "urn:pulumi:dev::shop::pulumi:providers:kubernetes::k", "type": "pulumi:providers:kubernetes", "custom": true}`, "a provider of its own"},
	} {
		state, err := replay.Read(t.Context(), stateFile("", c.resources), "", &settings.Crypters{})
		if err != nil {
			t.Fatal(err)
		}
		if err := state.CheckForeign("gcp"); err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
