package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/message"
)

func TestFaultNamesResourceAndCause(t *testing.T) {
	const urn = "urn:pulumi:dev::shop::gcp:sql/database:Database::orders"
	diag := func(urn, severity, message string) event {
		return event{Diagnostic: &diagnostic{URN: urn, Severity: severity, Message: message}}
	}
	cases := map[string]struct {
		events []event
		want   string
	}{
		"the provider's error comes with its resource": {
			[]event{diag(urn, "error", "1 error occurred:\n\t* googleapi: Error 403: denied, forbidden\n\n"), diag("", "error", "update failed")},
			"orders (gcp:sql/database:Database): googleapi: Error 403: denied, forbidden",
		},
		"further errors are counted": {
			[]event{diag(urn, "error", "first"), diag(urn, "error", "second"), diag("", "warning", "no")},
			"orders (gcp:sql/database:Database): first (and 1 more)",
		},
		"what the program writes as it fails is joined": {
			[]event{diag("", "info#err", "\x1b[31mError\x1b[0m: nope does not exist\n"), diag("", "info#err", "  on Pulumi.yaml line 8:\n")},
			"nope does not exist on Pulumi.yaml line 8:",
		},
		"a warning that no author of a Program can obey": {
			[]event{diag("", "info#err", "Warning: Pulumi.yaml: root-level `configuration` field is deprecated; please use `config` instead.\n"), diag("", "info#err", "Error: nope\n")},
			"nope",
		},
		"without events there is no description": {nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			log := NewLog(message.NewMask())
			for _, e := range c.events {
				log.add(&e)
			}
			if got := log.Fault(false); got != c.want {
				t.Errorf("message %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzEventLog(f *testing.F) {
	for _, seed := range []string{
		`{"resOutputsEvent":{"metadata":{"urn":"u","type":"pulumi:pulumi:Stack","new":{"outputs":{"a":1,"b":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270"}}}}}}`,
		`{"resourcePreEvent":{"metadata":{"urn":"urn:pulumi:a::b::c::d","op":"create","type":"c"}}}` + "\n" + `{"resOpFailedEvent":{"metadata":{"urn":"urn:pulumi:a::b::c::d"}}}`,
		`{"diagnosticEvent":{"urn":"","message":"canary-4711 <{%reset%}>","severity":"error"}}`, `{"summaryEvent":{"resourceChanges":{"same":1}}}`, "\n\n{", "[[[[", `{"resOutputsEvent":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		log := NewLog(message.NewMask("canary-4711"))
		log.OfRefresh()
		_ = log.Read(strings.NewReader(string(data)))
		if len(log.open) > mostOpen || len(log.faults.own)+len(log.faults.general)+len(log.faults.program) > 3*mostFaults {
			t.Error("it grows without bound")
		}
		size := 0
		for name, o := range log.outputs.values {
			if size += len(name) + len(o.Value); !o.Secret && !json.Valid(o.Value) {
				t.Errorf("output %q is not valid", o.Value)
			}
			if strings.Contains(string(o.Value), secretKey) && strings.Contains(string(o.Value), `"`+secretValue+`"`) && holdsSecretText(o.Value) {
				t.Errorf("output %q holds a secret", o.Value)
			}
		}
		if size > maxOutputBytes || len(log.outputs.values) > maxOutputs {
			t.Errorf("%d outputs of %d bytes", len(log.outputs.values), size)
		}
		if fault := log.Fault(false); strings.Contains(fault, "canary-4711") || strings.ContainsRune(fault, '\n') || len(fault) > message.Size+100 {
			t.Errorf("message %q", fault)
		}
		log.Unfinished()
		found, _ := log.Drift()
		if len(found) > mostDrifted || strings.Contains(fmt.Sprint(found), "canary-4711") {
			t.Errorf("drift %v", found)
		}
	})
}

func holdsSecretText(raw json.RawMessage) bool {
	var v any
	return json.Unmarshal(raw, &v) == nil && holdsSecret(v)
}
