package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// sighting is the time at which an object was first seen in a state.
type sighting struct {
	step string
	at   time.Time
}

// BenchmarkPushProgram pushes commits to a team's repository. Each commit adds a database to the Program of a Stack. The
// benchmark waits until the Stack is Ready. A webhook notifies Flux of each push: polling, once a minute, would be too slow.
func BenchmarkPushProgram(b *testing.B) {
	p := stratatest.NewWithTools(b)
	p.Run("up")
	clone := cloneOf(b, p, "web", "web")
	var slowest []sighting
	var worst time.Duration
	for i := range pushes {
		clone.commit("app-infra.yaml", "    user:\n", fmt.Sprintf("    shop%[1]d:\n      type: gcp:sql:Database\n      properties:\n        name: web_shop%[1]d\n        instance: ${platform:instance}\n    user:\n", i))
		seen := watchProgram(b, p, clone.git("rev-parse", "HEAD"))
		began := time.Now()
		clone.git("push", "--quiet")
		steps := []sighting{{"push", time.Now()}}
		for range cap(seen) {
			select {
			case s := <-seen:
				steps = append(steps, s)
			case <-time.After(readyTimeout):
				b.Fatalf("push %d: the Stack was not Ready within %s, only: %v", i, readyTimeout, steps)
			}
		}
		took := steps[len(steps)-1].at.Sub(began)
		b.Logf("push %d: %s", i, told(began, steps))
		if took > worst {
			worst, slowest = took, append([]sighting{{"", began}}, steps...)
		}
	}
	for i, s := range slowest[1:] {
		figure.Seconds(b, "changed Program pushed: "+s.step, s.at.Sub(slowest[i].at), 0)
	}
	figure.Seconds(b, "changed Program pushed to its Stack Ready, the slowest of 5", worst, programBound)
}

func told(began time.Time, steps []sighting) string {
	var parts []string
	for _, s := range steps {
		parts = append(parts, fmt.Sprintf("%s after %.2fs", s.step, s.at.Sub(began).Seconds()))
	}
	return strings.Join(parts, ", ")
}

// watchProgram watches the objects between a commit of team web and its Stack, and sends each step when it first sees it.
func watchProgram(b *testing.B, p *stratatest.Platform, commit string) <-chan sighting {
	b.Helper()
	h, err := home.At(p.Home)
	if err != nil {
		b.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", h.AdminKubeconfig())
	if err != nil {
		b.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	program := schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "programs"}
	stack := program.GroupVersion().WithResource("stacks")
	before, err := client.Resource(program).Namespace("team-web").Get(b.Context(), "wordpress-infra", metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	text := func(o *unstructured.Unstructured, fields ...string) string {
		s, _, _ := unstructured.NestedString(o.Object, fields...)
		return s
	}
	watches := []struct {
		step     string
		resource schema.GroupVersionResource
		name     string
		reached  func(*unstructured.Unstructured) bool
	}{
		{"source-controller fetched it", schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}, "web",
			func(o *unstructured.Unstructured) bool {
				return strings.HasSuffix(text(o, "status", "artifact", "revision"), commit)
			}},
		{"kustomize-controller applied it", program, "wordpress-infra",
			func(o *unstructured.Unstructured) bool { return o.GetGeneration() > before.GetGeneration() }},
		{"the operator began", stack, "wordpress-infra",
			func(o *unstructured.Unstructured) bool { return conditionOf(o, "Reconciling") == "True" }},
		{"the operator ran it", stack, "wordpress-infra",
			func(o *unstructured.Unstructured) bool {
				return conditionOf(o, "Ready") == "True" &&
					strings.HasPrefix(text(o, "status", "lastUpdate", "lastSuccessfulCommit"), fmt.Sprintf("%d@", before.GetGeneration()+1))
			}},
	}
	seen := make(chan sighting, len(watches))
	for _, w := range watches {
		events, err := client.Resource(w.resource).Namespace("team-web").Watch(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + w.name})
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			defer events.Stop()
			for event := range events.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok && w.reached(object) {
					seen <- sighting{w.step, time.Now()}
					return
				}
			}
		}()
	}
	return seen
}

// conditionOf returns the status of a condition of an object.
func conditionOf(o *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, entry := range list {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}
