package events

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/message"
)

const urnOfOrders = "urn:pulumi:dev::shop::gcp:sql/database:Database::orders"

// refreshOf returns the event of a refreshed resource.
func refreshOf(op, diff, before, after string) string {
	return fmt.Sprintf(`{"resOutputsEvent":{"metadata":{"op":%q,"urn":%q,"type":"gcp:sql/database:Database","detailedDiff":%s,"old":%s,"new":%s}}}`+"\n",
		op, urnOfOrders, diff, before, after)
}

func TestDriftOf(t *testing.T) {
	const secret = `{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"[secret]"}`
	state := func(inputs, outputs string) string { return fmt.Sprintf(`{"inputs":%s,"outputs":%s}`, inputs, outputs) }
	orders := func(fields ...Field) []Drifted {
		return []Drifted{{Name: "orders", Type: "gcp:sql/database:Database", Fields: fields}}
	}
	for name, c := range map[string]struct {
		event string
		want  []Drifted
	}{
		"an unchanged resource":       {refreshOf("same", `{}`, state(`{}`, `{"a":1}`), state(`{}`, `{"a":2}`)), nil},
		"a deleted resource":          {refreshOf("delete", `null`, state(`{}`, `{}`), `null`), []Drifted{{Name: "orders", Type: "gcp:sql/database:Database", Missing: true}}},
		"a changed input":             {refreshOf("update", `{"charset":{}}`, state(`{"charset":"utf8"}`, `{}`), state(`{"charset":"latin1"}`, `{}`)), orders(Field{"charset", `"utf8"`, `"latin1"`})},
		"a changed output":            {refreshOf("update", `{"spec.ports[1].port":{}}`, state(`{}`, `{"spec":{"ports":[{},{"port":1}]}}`), state(`{}`, `{"spec":{"ports":[{},{"port":2}]}}`)), orders(Field{"spec.ports[1].port", "1", "2"})},
		"a removed field":             {refreshOf("update", `{"labels.a":{}}`, state(`{"labels":{"a":"b"}}`, `{}`), state(`{"labels":{}}`, `{}`)), orders(Field{"labels.a", `"b"`, ""})},
		"a secret":                    {refreshOf("update", `{"password":{}}`, state(`{"password":`+secret+`}`, `{}`), state(`{"password":`+secret+`}`, `{}`)), orders(Field{"password", "[secret]", "[secret]"})},
		"a field within a secret":     {refreshOf("update", `{"data.port":{}}`, state(`{"data":`+secret+`}`, `{}`), state(`{"data":`+secret+`}`, `{}`)), orders(Field{"data.port", "[secret]", "[secret]"})},
		"an object with a secret":     {refreshOf("update", `{"data":{}}`, state(`{"data":{"a":`+secret+`}}`, `{}`), state(`{"data":{}}`, `{}`)), orders(Field{"data", "[secret]", "{}"})},
		"a secret known to the run":   {refreshOf("update", `{"url":{}}`, state(`{"url":"x"}`, `{}`), state(`{"url":"http://canary-4711@host"}`, `{}`)), orders(Field{"url", `"x"`, `"http://[secret]@host"`})},
		"a long value":                {refreshOf("update", `{"text":{}}`, state(`{"text":""}`, `{}`), state(`{"text":"`+strings.Repeat("é", 500)+`"}`, `{}`)), orders(Field{"text", `""`, `"` + strings.Repeat("é", 118) + "…"})},
		"a path that leads nowhere":   {refreshOf("update", `{"a[7].b":{},"c[":{}}`, state(`{"a":[]}`, `{}`), state(`{"a":3}`, `{}`)), orders(Field{Path: "a[7].b"}, Field{Path: "c["})},
		"a resource without its diff": {refreshOf("update", `null`, `null`, `null`), orders()},
		"the stack itself":            {`{"resOutputsEvent":{"metadata":{"op":"update","urn":"u","type":"pulumi:pulumi:Stack","new":{"outputs":{}}}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			log := NewLog(message.NewMask("canary-4711"))
			log.OfRefresh()
			if err := log.Read(strings.NewReader(c.event)); err != nil {
				t.Fatal(err)
			}
			if got, more := log.Drift(); !reflect.DeepEqual(got, c.want) || more != 0 {
				t.Errorf("drift %+v and %d more\nwant %+v", got, more, c.want)
			}
		})
	}
}

func TestDriftIsBounded(t *testing.T) {
	fields := map[string]any{}
	for i := range 1000 {
		fields[fmt.Sprintf("%03d", i)] = struct{}{}
	}
	diff, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	log := NewLog(message.NewMask())
	log.OfRefresh()
	if err := log.Read(strings.NewReader(strings.Repeat(refreshOf("update", string(diff), `{}`, `{}`), 70))); err != nil {
		t.Fatal(err)
	}
	found, more := log.Drift()
	if len(found) != mostDrifted || more != 20 || len(found[0].Fields) != mostFields || found[0].More != 990 {
		t.Errorf("%d resources and %d more, of %d fields and %d more", len(found), more, len(found[0].Fields), found[0].More)
	}
}
