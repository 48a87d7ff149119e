package status

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/platform"
)

// Note says how the tree shows an item.
type Note struct {
	// Text follows the name of a ready item. It may contain text of a team; the tree escapes it.
	Text string
	// Quiet hides the item while it is ready. Inner shows it below the previous item.
	Quiet, Inner bool
	// Account is the account that Flux uses to apply the team's commits, "namespace/name"; empty for an item of no team.
	Account string
}

const (
	green, red, yellow, plain = "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[0m"
	// kindWidth and nameWidth are the widths of the tree's columns.
	kindWidth, nameWidth = 15, 42
	// longestText is the maximum length of the text after a name if the width is unknown.
	longestText = 300
)

// Print writes one screenful: the report as a tree, and the root cause below it. Items that are not ready take
// precedence.
func (r Report) Print(w io.Writer, style Style) {
	p := printer{w, style}
	branches, left := r.fitScreen(style.Height)
	for _, b := range branches {
		p.line("", "", b.title, "")
		for n, i := range b.items {
			p.item(r.Items[i], r.Notes[i], n == len(b.items)-1 && b.left == 0)
		}
		if b.left > 0 && len(b.items) > 0 {
			p.line("└─ ", "", more(b.left, "", r.Command), "")
		}
	}
	if left > 0 {
		p.line("", "", more(left, " layers and teams", r.Command), "")
	}
	p.line("", "", "", "")
	if r.Ready {
		p.line("", green, "everything is ready", "")
	} else {
		r.printCauses(p)
	}
	for _, skew := range r.warnings() {
		// The line ends with what to do next, so the terminal's width does not cut it.
		printer{p.w, Style{Color: p.style.Color}}.line("", yellow, "warning: ", skew.String())
	}
}

func (r Report) printCauses(p printer) {
	for n, c := range r.Causes {
		if n > mostCauses(p.style.Height) {
			p.line("     also: ", "", fmt.Sprintf("%d more causes; `-o json` prints all", len(r.Causes)-n), "")
			break
		}
		if n == 0 {
			// People search for this line, so the terminal's width does not cut it.
			whole := printer{p.w, Style{Color: p.style.Color}}
			whole.line("", red, "not ready: ", r.Items[c.Item].Cause())
		} else {
			p.line("     also: ", "", r.Items[c.Item].Cause(), "")
		}
		if len(c.Explains) > 0 {
			p.line("  hence: ", "", r.list(c.Explains), "")
		}
	}
}

// list returns the names of items, separated by commas. Of many items it names the first and counts the rest.
func (r Report) list(items []int) string {
	const most = 4
	var names []string
	for _, i := range items[:min(most, len(items))] {
		names = append(names, r.Items[i].Ref())
	}
	if more := len(items) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// branches returns the whole tree, without ready items that are quiet.
func (r Report) branches() []branch {
	var all []branch
	for i, item := range r.Items {
		n := r.Notes[i]
		if item.Ready && n.Quiet {
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

// title returns the title of an item's branch: the layer, or the team, and the identity that creates the item.
func (r Report) title(i Item, n Note) string {
	switch i.Layer {
	case LayerBootstrap:
		return strings.TrimSuffix("1 bootstrap  as "+r.Engineer, "  as ")
	case LayerPlatform:
		return "2 platform   as the cluster's administrator"
	case LayerSync:
		return "3 sync       as " + platform.PlatformNamespace + "/" + platform.PlatformAccount
	}
	if i.Kind == KindTeam {
		return "4 " + i.Name
	}
	name := strings.TrimPrefix(i.Namespace, "team-")
	return fmt.Sprintf("4 %-10s as %s", name, cmp.Or(n.Account, i.Namespace))
}

// item prints the line of an item; last says that it is the last one of its branch.
func (p printer) item(i Item, n Note, last bool) {
	branch := "├─ "
	mark, color := i.mark()
	if last {
		branch = "└─ "
	}
	if n.Inner {
		branch = "│    "
	}
	name, width := terminal.Line(strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), longestRef), nameWidth
	text := n.Text
	if !i.Ready {
		text = i.why(longestText)
	} else if n.Text == "" && i.Layer == LayerBootstrap {
		text = i.Message
	}
	if n.Inner {
		width -= utf8.RuneCountInString(branch) - utf8.RuneCountInString("├─ ")
	}
	width -= max(0, len(i.Kind)-kindWidth)
	p.line(branch, color, mark, fmt.Sprintf(" %-*s %-*s  %s", kindWidth, i.Kind, width, name, terminal.Line(text, longestText)))
}
