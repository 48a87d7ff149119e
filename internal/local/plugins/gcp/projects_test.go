package gcp_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

const serviceType = "gcp:projects/service:Service"

func TestService(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	o := pl.create(serviceType, props("service", "container.googleapis.com"))
	if o.id != "strata-local/container.googleapis.com" {
		t.Errorf("ID is %q", o.id)
	}
	if changes := pl.diff(pl.read(o), o.inputs); len(changes) > 0 {
		t.Errorf("an unchanged service has changes: %v", changes)
	}
	imported := pl.read(object{typ: serviceType, id: o.id})
	if changes := pl.diff(imported, props("service", "container.googleapis.com")); imported.id != o.id || len(changes) > 0 {
		t.Errorf("imported %q with changes %v", imported.id, changes)
	}
	kept := o
	kept.state = o.state.Set("disableOnDestroy", property.New(false))
	pl.remove(kept)
	if pl.read(o).id == "" {
		t.Error("a service with disableOnDestroy false is disabled")
	}
	pl.remove(o)
	if pl.read(o).id != "" {
		t.Error("the service is still enabled")
	}
}
