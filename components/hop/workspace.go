package hop

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Workspace describes the pod in which upstream's operator runs a Stack. Package stackdefaults writes it into each Stack that
// leaves it out. The pod is deleted after a successful run, and runs under upstream's security profile restricted.
type Workspace struct {
	// Image is the image with pulumi and the plugins, with its digest; empty leaves the choice to the Stack and to upstream's
	// operator, whose images have tags and no plugins.
	Image string
	// CPU and Memory are the requests of the pod; empty means those of DefaultWorkspace.
	CPU, Memory string
	// MemoryLimit is the limit of its memory, which no Stack can lower: a killed run leaves the lock of its Pulumi stack
	// behind. Empty means that of DefaultWorkspace.
	MemoryLimit string
}

// DefaultWorkspace returns the Workspace of a Stack with a few providers. A plugin of a large provider takes 320 to 430 MB, and
// a Program of the platform's types runs two of them next to the engine.
func DefaultWorkspace() Workspace {
	return Workspace{CPU: "100m", Memory: "512Mi", MemoryLimit: "2Gi"}
}

// stacksAtOnce is the number of Stacks of a team whose pods fit into DefaultQuota together with the team's own pods. Pods of
// failed runs stay, so that the team can read their logs.
const stacksAtOnce = 50

// withDefaults returns the Workspace with every quantity set.
func (w Workspace) withDefaults() Workspace {
	standard := DefaultWorkspace()
	for _, field := range []struct{ value, standard *string }{
		{&w.CPU, &standard.CPU}, {&w.Memory, &standard.Memory}, {&w.MemoryLimit, &standard.MemoryLimit},
	} {
		if *field.value == "" {
			*field.value = *field.standard
		}
	}
	return w
}

// pinnedImage matches a reference to an image by its digest.
var pinnedImage = regexp.MustCompile(`^[^\s@]+@sha256:[0-9a-f]{64}$`)

// Problems returns a phrase for each value that NewHop would refuse. Each phrase begins with the field: image, cpu, memory or
// memoryLimit.
func (w Workspace) Problems() []string {
	var problems []string
	if w.Image != "" && !pinnedImage.MatchString(w.Image) {
		problems = append(problems, fmt.Sprintf("image %q has no digest: whoever writes the registry could change what runs. Use NAME@sha256:...", w.Image))
	}
	w = w.withDefaults()
	quantities := map[string]resource.Quantity{}
	for name, text := range map[string]string{"cpu": w.CPU, "memory": w.Memory, "memoryLimit": w.MemoryLimit} {
		parsed, err := resource.ParseQuantity(text)
		if err != nil || parsed.Sign() <= 0 {
			problems = append(problems, fmt.Sprintf("%s %q is not a quantity above zero, such as %s", name, text, DefaultWorkspace().Memory))
		}
		quantities[name] = parsed
	}
	if least, most := quantities["memory"], quantities["memoryLimit"]; len(problems) == 0 && least.Cmp(most) > 0 {
		problems = append(problems, fmt.Sprintf("memory %s is above memoryLimit %s", w.Memory, w.MemoryLimit))
	}
	slices.Sort(problems)
	return problems
}

// parameters returns the Workspace as a part of the TenantPolicy.
func (w Workspace) parameters() pulumi.Map {
	w = w.withDefaults()
	spec := pulumi.Map{"cpu": pulumi.String(w.CPU), "memory": pulumi.String(w.Memory), "memoryLimit": pulumi.String(w.MemoryLimit)}
	if w.Image != "" {
		spec["image"] = pulumi.String(w.Image)
	}
	return spec
}

// quota returns DefaultQuota with room for the pods of stacksAtOnce Stacks. The Workspace must have no Problems.
func (w Workspace) quota() map[string]string {
	w = w.withDefaults()
	hard := maps.Clone(DefaultQuota())
	for name, each := range map[string]string{"requests.cpu": w.CPU, "requests.memory": w.Memory, "limits.memory": w.MemoryLimit, "pods": "1"} {
		sum, one := resource.MustParse(hard[name]), resource.MustParse(each)
		for range stacksAtOnce {
			sum.Add(one)
		}
		hard[name] = sum.String()
	}
	return hard
}
