package gcp_test

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
)

// storageClient returns a client of Cloud Storage with the project owner's credentials. It does not use the plugin.
func storageClient(t *testing.T, owner string) *storage.Service {
	t.Helper()
	c, err := google.CredentialsFromJSONWithType(t.Context(), []byte(owner), google.AuthorizedUser, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		t.Fatal(err)
	}
	svc, err := storage.NewService(t.Context(), option.WithCredentials(c), option.WithEndpoint(os.Getenv("GOOGLE_STORAGE_CUSTOM_ENDPOINT")))
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

func TestBucketLife(t *testing.T) {
	svc := storageClient(t, newCloud(t))
	pl := newPlugin(t, property.Map{})
	inputs := fromJSON(t, `{
		"name": "strata-state", "location": "eu", "storageClass": "NEARLINE", "labels": {"team": "web"}, "uniformBucketLevelAccess": true,
		"publicAccessPrevention": "enforced", "versioning": {"enabled": true}, "softDeletePolicy": {"retentionDurationSeconds": 0},
		"cors": [{"origins": ["https://example.com"], "methods": ["GET"], "responseHeaders": ["*"], "maxAgeSeconds": 60}],
		"website": {"mainPageSuffix": "index.html"},
		"lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 30, "withState": "ARCHIVED", "matchesPrefixes": ["tmp/"]}}]
	}`)
	o := pl.create(bucketType, inputs)
	if o.id != "strata-state" || o.state.Get("url").AsString() != "gs://strata-state" || o.state.Get("project").AsString() != project {
		t.Errorf("created %q with %v", o.id, o.state)
	}
	if v := o.state.Get("location").AsString(); v != "EU" {
		t.Errorf("location is %q", v)
	}
	if !o.state.Get("effectiveLabels").Secret() || o.state.Get("labels").Secret() {
		t.Error("effectiveLabels must be secret, and labels must not be")
	}
	again := pl.read(o)
	if changes := pl.diff(again, inputs); len(changes) > 0 || !property.New(again.state).Equals(property.New(o.state)) {
		t.Errorf("an unchanged bucket has changes %v; state\n%v\nwas\n%v", changes, again.state, o.state)
	}

	t.Run("a refresh finds a change by somebody else, and an update reverts it", func(t *testing.T) {
		pl.t = t
		change := &storage.Bucket{
			Labels: map[string]string{"team": "api", "other": "1"}, StorageClass: "STANDARD", NullFields: []string{"Website", "Lifecycle", "Cors"},
			Versioning: &storage.BucketVersioning{ForceSendFields: []string{"Enabled"}},
		}
		if _, err := svc.Buckets.Patch(o.id, change).Context(t.Context()).Do(); err != nil {
			t.Fatal(err)
		}
		seen := pl.read(o)
		changes := pl.diff(seen, inputs)
		for path, want := range map[string]p.DiffKind{
			"labels.team": p.Update, "storageClass": p.Update, "versioning.enabled": p.Update, "lifecycleRules": p.Update, "cors": p.Update,
		} {
			if changes[path] != want {
				t.Errorf("%s is %q, want %q; all changes are %v", path, changes[path], want, changes)
			}
		}
		reverted := pl.update(seen, inputs)
		labels := reverted.state.Get("effectiveLabels").AsMap()
		if labels.Get("team").AsString() != "web" || labels.Get("other").AsString() != "1" || reverted.state.Get("labels").AsMap().Len() != 1 {
			t.Errorf("labels are %v of %v, want the program's label reverted and the other label unchanged", reverted.state.Get("labels"), labels)
		}
		if changes := pl.diff(pl.read(reverted), inputs); len(changes) > 0 {
			t.Errorf("a reverted bucket has changes %v", changes)
		}
	})
	t.Run("an imported object has no changes", func(t *testing.T) {
		pl.t = t
		for _, id := range []string{"strata-state", "strata-local/strata-state"} {
			imported := pl.read(object{typ: bucketType, id: id})
			changes := pl.diff(imported, inputs.Set("labels", property.New(props("team", "web", "other", "1"))))
			if imported.id != o.id || len(changes) > 0 {
				t.Errorf("%s imported as %q has changes %v", id, imported.id, changes)
			}
		}
	})
	t.Run("an update removes what the program no longer sets", func(t *testing.T) {
		pl.t = t
		o = pl.update(pl.read(o), fromJSON(t, `{"name": "strata-state", "location": "EU", "forceDestroy": false}`))
		live, err := svc.Buckets.Get(o.id).Context(t.Context()).Do()
		if err != nil {
			t.Fatal(err)
		}
		if len(live.Cors) > 0 || live.Lifecycle != nil && len(live.Lifecycle.Rule) > 0 || live.Labels["team"] != "" || live.StorageClass != "STANDARD" {
			t.Errorf("the bucket is %+v, want the removed settings gone", live)
		}
		if live.Versioning == nil || !live.Versioning.Enabled {
			t.Error("versioning is off, want it unchanged because it is computed")
		}
	})
	t.Run("only forceDestroy deletes a bucket with objects", func(t *testing.T) {
		pl.t = t
		for range 2 { // versions of one object
			_, err := svc.Objects.Insert(o.id, &storage.Object{Name: "a"}).Media(bytes.NewReader([]byte("x"))).Context(t.Context()).Do()
			if err != nil {
				t.Fatal(err)
			}
		}
		err := pl.provider.Delete(t.Context(), p.DeleteRequest{ID: o.id, Urn: urn(bucketType, "it"), Properties: o.state, OldInputs: o.inputs})
		if err == nil || !strings.Contains(err.Error(), "contains objects") || !strings.Contains(err.Error(), "forceDestroy") {
			t.Errorf("delete: %v", err)
		}
		o = pl.update(o, o.inputs.Set("forceDestroy", property.New(true)))
		pl.remove(o)
		if pl.read(o).id != "" {
			t.Error("the bucket still exists")
		}
	})
}

func TestBucketsHaveTheDefaultLabels(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, props("defaultLabels", `{"owner": "platform", "team": "none"}`))
	inputs := props("name", "strata-state", "location", "EU", "labels", props("team", "web"))
	o := pl.create(bucketType, inputs)
	effective := o.state.Get("effectiveLabels").AsMap()
	if effective.Get("owner").AsString() != "platform" || effective.Get("team").AsString() != "web" || o.state.Get("labels").AsMap().Len() != 1 {
		t.Errorf("labels are %v of %v", o.state.Get("labels"), effective)
	}
	if changes := pl.diff(pl.read(o), inputs); len(changes) > 0 {
		t.Errorf("an unchanged bucket has changes %v", changes)
	}
}

func TestBucketIAMMember(t *testing.T) {
	owner := newCloud(t)
	pl := newPlugin(t, property.Map{})
	bucket := pl.create(bucketType, props("name", "strata-state", "location", "EU", "uniformBucketLevelAccess", true))
	account := pl.create(accountType, props("accountId", "team-web"))
	team := pl.as(pl.create(keyType, props("serviceAccountId", account.id)))
	_, err := team.provider.Read(t.Context(), p.ReadRequest{ID: bucket.id, Urn: urn(bucketType, "it"), Properties: bucket.state, Inputs: bucket.inputs})
	if err == nil || !strings.Contains(err.Error(), "storage.buckets.get") {
		t.Errorf("read without a role: %v", err)
	}

	inputs := props("bucket", bucket.id, "role", "roles/storage.legacyBucketReader", "member", account.state.Get("member"))
	o := pl.create(bucketMemberType, inputs)
	if want := "b/strata-state/roles/storage.legacyBucketReader/" + account.state.Get("member").AsString(); o.id != want {
		t.Errorf("ID is %q, want %q", o.id, want)
	}
	if team.read(bucket).id == "" {
		t.Error("a member with the role cannot read the bucket")
	}
	again := pl.read(o)
	if changes := pl.diff(again, inputs); len(changes) > 0 || again.inputs.Get("bucket").AsString() != bucket.id {
		t.Errorf("an unchanged member has changes %v and inputs %v", changes, again.inputs)
	}
	for _, prefix := range []string{"b/strata-state", "strata-state"} {
		imported := pl.read(object{typ: bucketMemberType, id: prefix + " roles/storage.legacyBucketReader " + account.state.Get("member").AsString()})
		if changes := pl.diff(imported, inputs); imported.id != o.id || len(changes) > 0 {
			t.Errorf("imported %q with changes %v", imported.id, changes)
		}
	}
	pl.remove(o)
	if pl.read(o).id != "" {
		t.Error("the member still exists")
	}
	svc := storageClient(t, owner)
	if err := svc.Buckets.Delete(bucket.id).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Buckets.Get(bucket.id).Context(t.Context()).Do(); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusNotFound)) && !strings.Contains(err.Error(), "404") {
		t.Fatalf("the bucket: %v", err)
	}
	if pl.read(bucket).id != "" || pl.read(o).id != "" {
		t.Error("the plugin still finds a deleted bucket, or its member")
	}
}
