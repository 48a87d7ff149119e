package flux

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdk "github.com/strata-platform/strata/sdks/flux"
)

// testDrift changes one controller of Flux and deletes another, behind the back of a stack whose Flux is up to date.
func testDrift(t *testing.T, c *cluster, s *stack) {
	const changed, missing = "Deployment flux-system/notification-controller was changed", "Deployment flux-system/kustomize-controller is missing"
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`))
	if err := c.Patch(t.Context(), deployment("notification-controller"), patch); err != nil {
		t.Fatal(err)
	}
	s.previewUpdates(changed)
	if err := c.Delete(t.Context(), deployment("kustomize-controller"), client.PropagationPolicy("Foreground")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is gone", func() bool { return !c.exists(t, deployment("kustomize-controller")) })
	s.previewUpdates(changed, missing)
	s.previewUpdates(changed, missing, optpreview.Refresh())

	if changes := s.up("mend the drift"); changes[apitype.OpUpdate] != 1 || changes[apitype.OpReplace] > 0 || changes[apitype.OpCreate] > 0 {
		t.Errorf("the up after the drift did %v", changes)
	}
	for _, name := range []string{"notification-controller", "kustomize-controller"} {
		if d := deployment(name); !c.exists(t, d) || *d.Spec.Replicas != 1 {
			t.Errorf("%s was not mended", name)
		}
	}
	if changes := s.up("unchanged after the drift"); len(changes) > 1 {
		t.Errorf("an up after the repair did %v", changes)
	}
}

// previewUpdates asserts that a preview updates Flux and nothing else, and that its warnings contain all of named.
func (s *stack) previewUpdates(named ...any) {
	s.t.Helper()
	var options []optpreview.Option
	var want []string
	for _, n := range named {
		if option, ok := n.(optpreview.Option); ok {
			options = append(options, option)
		} else {
			want = append(want, n.(string))
		}
	}
	got := s.preview(options...)
	if !slices.Contains(got.steps, "update "+sdk.BootstrapGitToken) {
		s.t.Errorf("the steps of the preview are %q", got.steps)
	}
	for _, text := range want {
		if !strings.Contains(got.warnings, text) {
			s.t.Errorf("the preview warns\n%s\nwithout %q", got.warnings, text)
		}
	}
}

// previewed is the result of a preview.
type previewed struct {
	// steps are the operations and the types of their resources, in the order of the registrations.
	steps    []string
	warnings string
}

func (s *stack) preview(options ...optpreview.Option) previewed {
	s.t.Helper()
	stream := make(chan events.EngineEvent)
	read := make(chan previewed)
	go func() {
		var all previewed
		for e := range stream {
			switch {
			case e.ResourcePreEvent != nil:
				all.steps = append(all.steps, string(e.ResourcePreEvent.Metadata.Op)+" "+e.ResourcePreEvent.Metadata.Type)
			case e.DiagnosticEvent != nil && e.DiagnosticEvent.Severity == "warning":
				all.warnings += e.DiagnosticEvent.Message
			}
		}
		read <- all
	}()
	began := time.Now()
	if _, err := s.stack.Preview(s.t.Context(), append(options, optpreview.EventStreams(stream))...); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("preview: %s", time.Since(began).Round(time.Millisecond))
	return <-read
}
