package frame_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

// The types of a small SDK follow, in the form that Pulumi generates.

type boxLock struct {
	Code  *string `pulumi:"code"`
	Level int     `pulumi:"level"`
}

type boxArgs struct {
	Name   *string           `pulumi:"name"`
	Size   int               `pulumi:"size"`
	Colour *string           `pulumi:"colour"`
	Labels map[string]string `pulumi:"labels"`
	Locks  []boxLock         `pulumi:"locks"`
	Region *string           `pulumi:"region"`
	Fancy  *bool             `pulumi:"fancy"`
	Lid    *boxLock          `pulumi:"lid"`
	Tags   []string          `pulumi:"tags"`
}

type BoxArgs struct{}

func (BoxArgs) ElementType() reflect.Type { return reflect.TypeFor[boxArgs]() }

type Box struct {
	pulumi.CustomResourceState

	Name   pulumi.StringOutput    `pulumi:"name"`
	Size   pulumi.IntOutput       `pulumi:"size"`
	Colour pulumi.StringPtrOutput `pulumi:"colour"`
	Labels pulumi.StringMapOutput `pulumi:"labels"`
	Locks  pulumi.AnyOutput       `pulumi:"locks"`
	Region pulumi.StringOutput    `pulumi:"region"`
	Fancy  pulumi.BoolPtrOutput   `pulumi:"fancy"`
	Lid    pulumi.AnyOutput       `pulumi:"lid"`
	Tags   pulumi.AnyOutput       `pulumi:"tags"`
	Serial pulumi.StringOutput    `pulumi:"serial"`
	Key    pulumi.StringOutput    `pulumi:"key"`
}

// The types of the operations follow. They contain only some of the SDK's properties.

type box struct {
	Name   string            `json:"name"`
	Size   int               `json:"size"`
	Colour string            `json:"colour,omitempty"`
	Labels map[string]string `json:"labels"`
	Region string            `json:"region"`
	Tags   []string          `json:"tags,omitempty"`
}

type boxState struct {
	box
	Serial string `json:"serial"`
	Key    string `json:"key,omitempty"`
}

const boxToken = "toys:index/box:Box"

// shelf is a service that stores boxes by name.
type shelf struct {
	boxes   map[string]boxState
	fail    error                        // the error of the next creations
	updated frame.Request[box, boxState] // the last update
}

func (s *shelf) pkg() frame.Package {
	type request = frame.Request[box, boxState]
	return frame.Package{
		Name: "toys", Version: "1.2.3",
		Config: struct {
			Region *string  `pulumi:"region"`
			Tags   []string `pulumi:"tags"`
		}{},
		Resources: map[string]frame.Resource{boxToken: {
			Args: BoxArgs{}, State: Box{},
			Rules: rules.ByPath{
				"name": {Replace: true}, "size": {Replace: true}, "lid.code": {Replace: true}, "locks": {Replace: true},
				"region": {Computed: true}, "fancy": {Default: true}, "key": {Secret: true},
			},
			Identity: []string{"name"},
			AutoName: "name",
			Operations: frame.Handle(frame.CRUD[box, boxState]{
				Check: func(b box) []frame.Failure {
					if b.Size < 0 {
						return []frame.Failure{{Path: "size", Reason: "size must not be negative"}}
					}
					return nil
				},
				Create: func(_ context.Context, r request) (string, boxState, error) {
					if s.fail != nil && s.boxes == nil {
						return "", boxState{}, s.fail
					}
					b := boxState{box: r.Args, Serial: "1", Key: "k"}
					if b.Region == "" {
						b.Region = "here"
					}
					s.boxes[b.Name] = b
					return b.Name, b, s.fail
				},
				Read: func(_ context.Context, r request) (string, boxState, error) {
					b, ok := s.boxes[r.ID]
					if !ok {
						return "", boxState{}, frame.ErrNotFound
					}
					b.Key = "" // only the creation returns it
					return r.ID, b, nil
				},
				Update: func(_ context.Context, r request) (boxState, error) {
					s.updated = r
					b := s.boxes[r.ID]
					b.Labels, b.Colour = r.Args.Labels, r.Args.Colour
					s.boxes[r.ID] = b
					return b, nil
				},
				Delete: func(_ context.Context, r request) error {
					if _, ok := s.boxes[r.ID]; !ok {
						return frame.ErrNotFound
					}
					delete(s.boxes, r.ID)
					return nil
				},
			}),
		}},
	}
}

func urn(name string) resource.URN {
	return resource.NewURN("dev", "test", "", boxToken, name)
}

func props(kv ...any) property.Map {
	m := map[string]property.Value{}
	for i := 0; i < len(kv); i += 2 {
		switch v := kv[i+1].(type) {
		case string:
			m[kv[i].(string)] = property.New(v)
		case int:
			m[kv[i].(string)] = property.New(float64(v))
		case bool:
			m[kv[i].(string)] = property.New(v)
		case property.Map:
			m[kv[i].(string)] = property.New(v)
		case []property.Value:
			m[kv[i].(string)] = property.New(v)
		case property.Value:
			m[kv[i].(string)] = v
		}
	}
	return property.NewMap(m)
}

func TestLifecycle(t *testing.T) {
	s := &shelf{boxes: map[string]boxState{}}
	server := s.pkg().Provider()
	inputs := props("name", "a", "size", 1, "labels", property.New(props("owner", "me")).WithSecret(true))

	preview, err := server.Create(t.Context(), p.CreateRequest{Urn: urn("b"), Properties: inputs, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if !preview.Properties.Get("serial").IsComputed() || preview.Properties.Get("name").AsString() != "a" || len(s.boxes) != 0 {
		t.Errorf("preview is %v with %d boxes, want an unknown serial and no box", preview.Properties, len(s.boxes))
	}

	created, err := server.Create(t.Context(), p.CreateRequest{Urn: urn("b"), Properties: inputs})
	if err != nil {
		t.Fatal(err)
	}
	if v := created.Properties.Get("key"); !v.Secret() || v.AsString() != "k" {
		t.Errorf("key is %v, want a secret", v)
	}
	if v := created.Properties.Get("labels"); !v.Secret() {
		t.Error("the labels are not secret, although the input is")
	}

	b := s.boxes["a"]
	b.Labels = map[string]string{"owner": "somebody"}
	s.boxes["a"] = b
	read, err := server.Read(t.Context(), p.ReadRequest{ID: "a", Urn: urn("b"), Properties: created.Properties, Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	if got := read.Inputs.Get("labels").AsMap().Get("owner").AsString(); got != "somebody" {
		t.Errorf("the refreshed label is %q, want the current one", got)
	}
	if read.Inputs.Get("region").IsString() {
		t.Error("a refresh added an input that the program never set")
	}
	if v := read.Properties.Get("key"); !v.IsString() || !v.Secret() || v.AsString() != "k" {
		t.Errorf("after a refresh the key is %v, want the key from the creation", v)
	}

	imported, err := server.Read(t.Context(), p.ReadRequest{ID: "a", Urn: urn("b")})
	if err != nil {
		t.Fatal(err)
	}
	if imported.Inputs.Get("size").AsNumber() != 1 || imported.Inputs.Get("serial").IsString() {
		t.Errorf("imported inputs are %v, want the inputs and no outputs", imported.Inputs)
	}

	updated, err := server.Update(t.Context(), p.UpdateRequest{
		ID: "a", Urn: urn("b"), State: read.Properties, OldInputs: read.Inputs, Inputs: inputs.Set("colour", property.New("red")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := updated.Properties.Get("colour").AsString(); got != "red" || s.boxes["a"].Labels["owner"] != "me" {
		t.Errorf("after the update: colour %q, box %v", got, s.boxes["a"])
	}

	for range 2 { // deleting a missing object succeeds
		if err := server.Delete(t.Context(), p.DeleteRequest{ID: "a", Urn: urn("b"), Properties: updated.Properties}); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := server.Read(t.Context(), p.ReadRequest{ID: "a", Urn: urn("b"), Properties: updated.Properties, Inputs: inputs})
	if err != nil || gone.ID != "" {
		t.Errorf("reading a deleted box returned %q, %v; want nothing", gone.ID, err)
	}
}

func TestErrorsAreOneLineWithTheResource(t *testing.T) {
	s := &shelf{fail: errors.New("no room\n\tleft")}
	_, err := s.pkg().Provider().Create(t.Context(), p.CreateRequest{Urn: urn("b"), Properties: props("size", 1)})
	if want := `create toys:index/box:Box "b": no room left`; err == nil || err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestAFailureAfterCreationKeepsTheObject(t *testing.T) {
	s := &shelf{boxes: map[string]boxState{}, fail: errors.New("not ready")}
	resp, err := s.pkg().Provider().Create(t.Context(), p.CreateRequest{Urn: urn("b"), Properties: props("name", "a", "size", 1)})
	if err == nil || resp.PartialState == nil || resp.ID != "a" || resp.Properties.Get("serial").AsString() != "1" {
		t.Errorf("response is %+v, %v; want the box as partial state", resp, err)
	}
}

func TestCancelEndsOperations(t *testing.T) {
	type request = frame.Request[box, boxState]
	started := make(chan struct{})
	pkg := (&shelf{}).pkg()
	r := pkg.Resources[boxToken]
	r.Operations = frame.Handle(frame.CRUD[box, boxState]{
		Create: func(ctx context.Context, _ request) (string, boxState, error) {
			close(started)
			<-ctx.Done()
			return "", boxState{}, ctx.Err()
		},
	})
	pkg.Resources[boxToken] = r
	server := pkg.Provider()
	ended := make(chan error)
	go func() {
		_, err := server.Create(t.Context(), p.CreateRequest{Urn: urn("b"), Properties: props("size", 1)})
		ended <- err
	}()
	<-started
	if err := server.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the creation ended with %v, want context.Canceled", err)
	}
}
