// Package examples_test checks the repositories in examples/ against the types of their kinds and against the objects and
// permissions of a hop.
package examples_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	fluxkustomize "github.com/fluxcd/pkg/kustomize"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/handoff"
	operatorv1 "github.com/strata-platform/strata/operator/api/v1"
)

// examples maps each folder to the Stacks in it. Each folder can be the content of a team's repository.
var examples = map[string][]string{
	"wordpress":       {"wordpress-infra"},
	"project-in-git":  {"wordpress-infra"},
	"shared-database": {"shop-database", "shop-reports"},
}

func TestEveryFolderIsAnExampleWithAReadMe(t *testing.T) {
	found, err := filepath.Glob("*/kustomization.yaml")
	if err != nil || len(found) != len(examples) {
		t.Errorf("the folders with an example are %v: %v", found, err)
	}
	for folder := range examples {
		if _, err := os.Stat(filepath.Join(folder, "README.md")); err != nil {
			t.Error(err)
		}
	}
}

// repository holds the objects that Flux applies from an example, decoded strictly.
type repository struct {
	resources   []*resource.Resource
	programs    map[string]operatorv1.Program
	stacks      map[string]operatorv1.Stack
	deployments map[string]appsv1.Deployment
	services    map[string]corev1.Service
	claims      map[string]corev1.PersistentVolumeClaim
}

func load(t *testing.T, folder string) repository {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	r := repository{
		resources: built.Resources(),
		programs:  map[string]operatorv1.Program{}, stacks: map[string]operatorv1.Stack{},
		deployments: map[string]appsv1.Deployment{}, services: map[string]corev1.Service{},
		claims: map[string]corev1.PersistentVolumeClaim{},
	}
	kinds := map[string]func(*testing.T, *resource.Resource){
		"Program": into(r.programs), "Stack": into(r.stacks), "Deployment": into(r.deployments),
		"Service": into(r.services), "PersistentVolumeClaim": into(r.claims),
	}
	for _, object := range r.resources {
		if kinds[object.GetKind()] == nil {
			t.Fatalf("%s: a %s is not expected", folder, object.GetKind())
		}
		kinds[object.GetKind()](t, object)
		if object.GetNamespace() != "" {
			t.Errorf("%s sets a namespace, but only the hop decides the namespace", object.CurId())
		}
	}
	return r
}

// into returns a function that decodes an object strictly, and stores it under its name.
func into[T any](all map[string]T) func(*testing.T, *resource.Resource) {
	return func(t *testing.T, object *resource.Resource) {
		t.Helper()
		content, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var decoded T
		if err := yaml.UnmarshalStrict(content, &decoded); err != nil {
			t.Errorf("%s: %v", object.CurId(), err)
		}
		all[object.GetName()] = decoded
	}
}

// TestStacksSayOnlyWhatTheyAre checks that the platform fills in everything else: docs/reference/stack.md lists it.
func TestStacksSayOnlyWhatTheyAre(t *testing.T) {
	for folder, names := range examples {
		r := load(t, folder)
		if got := slices.Sorted(maps.Keys(r.stacks)); !slices.Equal(got, names) {
			t.Errorf("%s: Stacks are %v, want %v", folder, got, names)
		}
		for name, stack := range r.stacks {
			said := stack.Spec
			want := operatorv1.StackSpec{
				ProgramRef: said.ProgramRef, FluxSource: said.FluxSource, Prerequisites: said.Prerequisites, ConfigRef: said.ConfigRef,
			}
			if !reflect.DeepEqual(said, want) {
				t.Errorf("%s of %s says more than its program, its settings and its prerequisites: %+v", name, folder, said)
			}
			for key, ref := range said.ConfigRef {
				if strings.HasPrefix(key, handoff.SettingNamespace+":") || ref.Name == handoff.TenantName {
					t.Errorf("%s of %s sets %s, which the platform fills in", name, folder, key)
				}
			}
			if said.ProgramRef != nil && r.programs[said.ProgramRef.Name].Name == "" {
				t.Errorf("%s contains no Program %s", folder, said.ProgramRef.Name)
			}
			if said.FluxSource != nil && (said.FluxSource.SourceRef.Kind != "GitRepository" || said.FluxSource.SourceRef.Name != "web") {
				t.Errorf("%s: the project comes from %+v, not from the team's own repository", folder, said.FluxSource.SourceRef)
			}
		}
	}
}

// TestAStackIsShort counts the lines of the Stack in the repository that each team begins with.
func TestAStackIsShort(t *testing.T) {
	content, err := os.ReadFile("wordpress/app-infra.yaml")
	if err != nil {
		t.Fatal(err)
	}
	program, stack, _ := strings.Cut(string(content), "\n---\n")
	if got := lines(stack); got > 8 {
		t.Errorf("the Stack has %d lines", got)
	}
	if got := lines(program) + 1 + lines(stack); got > 50 {
		t.Errorf("the Program and its Stack have %d lines", got)
	}
}

// lines counts the lines that are neither empty nor a comment.
func lines(text string) (n int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// pulumiProject is the content of a Pulumi.yaml.
type pulumiProject struct {
	Name      string         `json:"name"`
	Runtime   string         `json:"runtime"`
	Variables map[string]any `json:"variables"`
	Resources map[string]any `json:"resources"`
	Outputs   map[string]any `json:"outputs"`
}

func project(t *testing.T, folder string) pulumiProject {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "Pulumi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p pulumiProject
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	return p
}

// TestTheProjectInGitIsTheProgramOfWordPress checks that a team can replace the Program by the project, as
// docs/app-team.md describes.
func TestTheProjectInGitIsTheProgramOfWordPress(t *testing.T) {
	program := load(t, "wordpress").programs["wordpress-infra"]
	p := project(t, "project-in-git/infra")
	if p.Name != program.Name || p.Runtime != "yaml" {
		t.Errorf("the project is %s with runtime %s", p.Name, p.Runtime)
	}
	for part, got := range map[string][2]any{
		"variables": {p.Variables, program.Program.Variables}, "resources": {p.Resources, program.Program.Resources},
		"outputs": {p.Outputs, program.Program.Outputs},
	} {
		if !reflect.DeepEqual(plain(t, got[0]), plain(t, got[1])) {
			t.Errorf("%s differ", part)
		}
	}
}

// plain converts a value to the types that encoding/json decodes into.
func plain(t *testing.T, value any) (decoded any) {
	t.Helper()
	content, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(content, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestTheDeploymentReadsWhatTheProgramWrites(t *testing.T) {
	app := load(t, "wordpress")
	var keys map[string]string
	if err := yaml.Unmarshal(app.programs["wordpress-infra"].Program.Resources["sql-auth"].Properties["stringData"].Raw, &keys); err != nil {
		t.Fatal(err)
	}
	deployment := app.deployments["wordpress"]
	pod := deployment.Spec.Template.Spec
	read := []string{"host", "port"} // for clients that connect without the proxy
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, variable := range container.Env {
			if variable.ValueFrom == nil {
				continue
			}
			switch ref := variable.ValueFrom.SecretKeyRef; ref.Name {
			case "sql-auth":
				read = append(read, ref.Key)
			case handoff.TenantName:
				t.Errorf("%s reads %s of the team's context: pods get their Google identity without a key", variable.Name, ref.Key)
			default:
				t.Errorf("%s reads Secret %s, which no object of the example creates", variable.Name, ref.Name)
			}
		}
	}
	slices.Sort(read)
	if written := slices.Sorted(maps.Keys(keys)); !slices.Equal(read, written) {
		t.Errorf("the Program writes %v, the pods read %v", written, read)
	}
	if pod.ServiceAccountName != "web" {
		t.Errorf("the pod runs as %s, want the team's account, which has the team's Google identity", pod.ServiceAccountName)
	}
	if service := app.services["wordpress"]; service.Spec.Selector["app"] != deployment.Spec.Template.Labels["app"] {
		t.Error("the Service selects other pods than the Deployment's")
	}
	if _, found := app.claims[pod.Volumes[0].PersistentVolumeClaim.ClaimName]; !found {
		t.Error("no PersistentVolumeClaim of the example has the name in the pod")
	}
}

// TestTheProxyIsASidecarThatWordPressReaches compares the arguments of the proxy with the rest of the pod.
func TestTheProxyIsASidecarThatWordPressReaches(t *testing.T) {
	pod := load(t, "wordpress").deployments["wordpress"].Spec.Template.Spec
	proxy := pod.InitContainers[0]
	if proxy.RestartPolicy == nil || *proxy.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("the proxy is not a sidecar: its restartPolicy is not Always")
	}
	flags := map[string]string{}
	for _, arg := range proxy.Args {
		name, value, _ := strings.Cut(arg, "=")
		flags[name] = value
	}
	database := ""
	for _, variable := range pod.Containers[0].Env {
		if variable.Name == "WORDPRESS_DB_HOST" {
			database = variable.Value
		}
	}
	if want := flags["--address"] + ":" + flags["--port"]; database != want {
		t.Errorf("WordPress connects to %s, the proxy listens on %s", database, want)
	}
	if port := proxy.Ports[0]; port.Name != "health" || flags["--http-port"] != "9801" || port.ContainerPort != 9801 || flags["--http-address"] != "0.0.0.0" {
		t.Errorf("probes call port %d, the proxy listens on %s", port.ContainerPort, flags["--http-port"])
	}
	if _, answers := flags["--health-check"]; !answers {
		t.Error("the proxy serves no health check")
	}
}

// TestFluxLeavesProgramsAsTheyAre substitutes variables in the same way as kustomize-controller for a sync with variables:
// strictly, and with one variable that has the name of a Program's setting.
func TestFluxLeavesProgramsAsTheyAre(t *testing.T) {
	sync := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"postBuild": map[string]any{
		"substitute": map[string]any{"platform": "somebody-elses"},
	}}}}
	substitute := func(r *resource.Resource) (string, error) {
		changed, err := fluxkustomize.SubstituteVariables(t.Context(), nil, sync, r, fluxkustomize.SubstituteWithStrict(true))
		if err != nil || changed == nil {
			return r.MustYaml(), err
		}
		return changed.MustYaml(), nil
	}
	for folder := range examples {
		for _, object := range load(t, folder).resources {
			before := object.MustYaml()
			if after, err := substitute(object); err != nil || after != before {
				t.Errorf("%s: the substitution changes %s: %v", folder, object.CurId(), err)
			}
			if object.GetKind() != "Program" {
				continue
			}
			if err := object.SetAnnotations(nil); err != nil {
				t.Fatal(err)
			}
			if after, err := substitute(object); err == nil && !strings.Contains(after, "somebody-elses") {
				t.Errorf("%s: without its annotation the substitution does not change %s, so the test proves nothing", folder, object.CurId())
			}
		}
	}
}
