package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/platform"
)

// note is the text in the tree about an object, besides its name.
type note struct {
	// text follows the name of a ready object.
	text string
	// quiet hides the object while it is ready. inner shows it below the previous item.
	quiet, inner bool
	// team is the account that Flux applies the team's commits under, "namespace/name"; empty for an object that belongs
	// to no team.
	team string
}

// quietKinds are the kinds that the tree shows only if they are not ready.
var quietKinds = []string{
	"Namespace", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ServiceAccount", "RoleBinding", "TenantPolicy", "Secret", "ConfigMap", "Receiver", "Program", "PersistentVolumeClaim",
}

func (w *world) note(o *object) note {
	n := note{quiet: slices.Contains(quietKinds, o.Kind)}
	if team, ok := w.scope.team(o.Namespace); ok && o.Layer == LayerTeam {
		n.team = team.Namespace() + "/" + team.ServiceAccount()
	}
	switch o.Kind {
	case "GitRepository", "OCIRepository", "Bucket":
		n.text = revision(o.text("status", "artifact", "revision"))
	case "Kustomization":
		n.text = revision(o.text("status", "lastAppliedRevision"))
	case "Stack":
		n.text = outputs(o)
	case "Deployment", "StatefulSet", "Job":
		n.text = pods(w.podsOf(o))
	case "Pod":
		n.inner = w.ownerOf(o) != nil
		n.quiet = n.inner
		n.text = runtimeOf(o.Runtime)
	}
	return n
}

// pods counts pods by their runtime.
func pods(all []*object) string {
	var parts []string
	count := map[string]int{}
	for _, pod := range all {
		count[pod.Runtime]++
	}
	for _, runtime := range sorted(count) {
		plural := "pods"
		if count[runtime] == 1 {
			plural = "pod"
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s %s", count[runtime], plural, runtimeOf(runtime))))
	}
	return strings.Join(parts, ", ")
}

func runtimeOf(runtime string) string {
	if runtime == "" {
		return ""
	}
	// A team may set the annotation too, so it is escaped.
	return "(" + terminal.Line(runtime, longestRuntime) + ")"
}

// outputs returns the beginning of a Stack's outputs, without secrets.
func outputs(o *object) string {
	if o.content == nil {
		return ""
	}
	all, _, _ := unstructured.NestedMap(o.content.Object, "status", "outputs")
	return OutputsLine(all, mostOutputs)
}

// OutputsLine returns up to most outputs as one line that is safe to print.
func OutputsLine(all map[string]any, most int) string {
	var parts []string
	for _, name := range sorted(all) {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("… and %d more", len(all)-most))
			break
		}
		parts = append(parts, terminal.Line(name, longestOutput)+"="+shortOutput(all[name]))
	}
	return strings.Join(parts, ", ")
}

const (
	green, red, dim, plain = "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
	// kindWidth and nameWidth are the widths of the tree's columns.
	kindWidth, nameWidth = 15, 42
	// longestSaid is the maximum length of the text after a name if the width is unknown. longestRuntime is the maximum
	// length of a pod's runtime.
	longestSaid, longestRuntime = 300, 20
)

// Print writes one screenful: the report as a tree, and the root cause below it. Items that are not ready take
// precedence.
func (r Report) Print(w io.Writer, style Style) {
	p := printer{w, style}
	branches, left := r.fit(style.Height)
	for _, b := range branches {
		p.line("", "", b.title, "")
		for n, i := range b.items {
			p.item(r.Items[i], r.notes[i], n == len(b.items)-1 && b.left == 0)
		}
		if b.left > 0 && len(b.items) > 0 {
			p.line("└─ ", "", more(b.left, "", r.all), "")
		}
	}
	if left > 0 {
		p.line("", "", more(left, " layers and teams", r.all), "")
	}
	p.line("", "", "", "")
	if r.Ready {
		p.line("", green, "everything is ready", "")
		return
	}
	r.printCauses(p)
}

func (r Report) printCauses(p printer) {
	for n, c := range r.causes {
		if n > mostCauses(p.style.Height) {
			p.line("     also: ", "", fmt.Sprintf("%d more of their own; `-o json` has all", len(r.causes)-n), "")
			break
		}
		if n == 0 {
			// People search for this line, so the terminal's width does not cut it.
			whole := printer{p.w, Style{Color: p.style.Color}}
			whole.line("", red, "not ready: ", r.Items[c.item].cause())
		} else {
			p.line("     also: ", "", r.Items[c.item].cause(), "")
		}
		if len(c.explains) > 0 {
			p.line("  hence: ", "", r.list(c.explains), "")
		}
	}
}

// list returns the names of items; of many items, only the first.
func (r Report) list(items []int) string {
	const most = 4
	var names []string
	for _, i := range items[:min(most, len(items))] {
		names = append(names, r.Items[i].ref())
	}
	if more := len(items) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// cause returns the item as one line that includes its layer.
func (i Item) cause() string {
	if i.Layer == LayerTeam || i.Kind == "Layer" {
		return i.String()
	}
	return strings.Replace(i.String(), i.ref(), i.ref()+" (layer "+i.Layer+")", 1)
}

func (r Report) branches() []branch {
	var all []branch
	for i, item := range r.Items {
		n := r.notes[i]
		if item.Ready && n.quiet {
			continue
		}
		title := r.title(item, n)
		if len(all) == 0 || all[len(all)-1].title != title {
			all = append(all, branch{title: title})
		}
		b := &all[len(all)-1]
		b.items = append(b.items, i)
	}
	return all
}

func (r Report) title(i Item, n note) string {
	switch i.Layer {
	case LayerBootstrap:
		return strings.TrimSuffix("1 bootstrap  as "+r.Engineer, "  as ")
	case LayerPlatform:
		return "2 platform   as the cluster's administrator"
	case LayerSync:
		return "3 sync       as " + platform.PlatformNamespace + "/" + platform.PlatformAccount
	}
	if i.Kind == kindTeam {
		return "4 " + i.Name
	}
	name := strings.TrimPrefix(i.Namespace, "team-")
	return fmt.Sprintf("4 %-10s as %s", name, cmp.Or(n.team, i.Namespace))
}

func (p printer) item(i Item, n note, last bool) {
	branch, mark, color := "├─ ", "✓", green
	if last {
		branch = "└─ "
	}
	if n.inner {
		branch = "│    "
	}
	if !i.Ready {
		mark, color = "✗", red
	}
	name, width := terminal.Line(strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), longestRef), nameWidth
	said := n.text
	if !i.Ready {
		said = i.why(longestSaid)
	} else if n.text == "" && i.Layer == LayerBootstrap {
		said = i.Message
	}
	if n.inner {
		width -= utf8.RuneCountInString(branch) - utf8.RuneCountInString("├─ ")
	}
	width -= max(0, len(i.Kind)-kindWidth)
	p.line(branch, color, mark, fmt.Sprintf(" %-*s %-*s  %s", kindWidth, i.Kind, width, name, terminal.Line(said, longestSaid)))
}
