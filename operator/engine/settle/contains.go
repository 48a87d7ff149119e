package settle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// maxContained bounds how many resources of one state Contains and EachNamed decode. A state can hold millions of empty
// resources, which take seconds and gigabytes to decode.
const maxContained = 20_000

// Contains reports whether a state file of a file backend has the object among its first resources. project is the Google
// Cloud project of providers whose inputs set none. The file is untrusted: Contains decodes the resources one by
// one, and reads the resources of an invalid file up to the fault.
func Contains(ctx context.Context, file []byte, typ, id, project string) bool {
	known, found := newState(project), false
	_ = each(ctx, file, func(other resource) bool { // A fault hides the resources behind it, which is the bound's effect, too.
		// A state lists a provider before the resources that use it.
		known.learn(other)
		found = other.text("type") == typ && (other.text("id") == id || known.idOf(other) == id)
		return !found
	})
	return found
}

// EachNamed calls see with the type, the name and the instance of each database and user on an instance of Cloud SQL in a
// state file, until see returns false. They come from the ID of the resource, because its inputs may be encrypted, and from
// its inputs if it has no ID. The file is untrusted: EachNamed decodes the resources one by one. The error is that of the
// first fault, or says that the file has too many resources; see has then got the resources before.
func EachNamed(ctx context.Context, file []byte, see func(typ, name, instance string) bool) error {
	return each(ctx, file, func(r resource) bool {
		typ := r.text("type")
		form, ok := ids[typ]
		if !ok || !strings.HasPrefix(typ, "gcp:sql/") || !strings.Contains(form, "{name}") || !strings.Contains(form, "{instance}") {
			return true
		}
		name, instance := "", ""
		if id := strings.Split(r.text("id"), "/"); len(id) == strings.Count(form, "/")+1 {
			for i, part := range strings.Split(form, "/") {
				switch part {
				case "{name}":
					name = id[i]
				case "{instance}":
					instance = id[i]
				}
			}
		}
		inputs := r.object("inputs")
		text := func(key string) string {
			value, _ := inputs[key].(string)
			return value[strings.LastIndexByte(value, '/')+1:]
		}
		return see(typ, cmp.Or(name, text("name")), cmp.Or(instance, text("instance")))
	})
}

// each calls see for each resource in a state file, until see returns false.
func each(ctx context.Context, file []byte, see func(resource) bool) error {
	decoder := json.NewDecoder(bytes.NewReader(file))
	for _, field := range []string{"checkpoint", "latest", "resources"} {
		// The inner fields are missing in the state of a stack without resources.
		if has, err := enterField(decoder, field); err != nil || !has {
			return err
		}
	}
	token, err := decoder.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return fmt.Errorf("its resources are %v, and not a list", token)
	}
	for count := 0; decoder.More(); count++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if count == maxContained {
			return fmt.Errorf("it has more than %d resources", maxContained)
		}
		var r resource
		if err := decoder.Decode(&r); err != nil {
			return err
		}
		if !see(r) {
			return nil
		}
	}
	_, err = decoder.Token() // More is also false at the end of a file that was cut.
	return err
}

// enterField reads an object up to the value of a field. enterField reports whether the object has the field. A null has no
// fields.
func enterField(decoder *json.Decoder, field string) (bool, error) {
	token, err := decoder.Token()
	if err != nil || token == nil {
		return false, err
	}
	if token != json.Delim('{') {
		return false, fmt.Errorf("it has %v in place of the object with the field %s", token, field)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return false, err
		}
		if name == field {
			return true, nil
		}
		if err := decoder.Decode(&json.RawMessage{}); err != nil {
			return false, err
		}
	}
	_, err = decoder.Token()
	return false, err
}
