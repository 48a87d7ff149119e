package status

import (
	"fmt"
	"io"
	"strings"
)

// titles are the layers as people read them.
var titles = []struct{ layer, title string }{
	{LayerBootstrap, "1 bootstrap"},
	{LayerPlatform, "2 platform"},
	{LayerSync, "3 sync"},
	{LayerTeam, "4 teams"},
}

// Print writes the report as a tree, and the root cause below it.
func (r Report) Print(w io.Writer) {
	for _, t := range titles {
		var items []Item
		for _, i := range r.Items {
			if i.Layer == t.layer {
				items = append(items, i)
			}
		}
		if len(items) == 0 {
			continue
		}
		fmt.Fprintln(w, t.title)
		for n, i := range items {
			branch := "├─"
			if n == len(items)-1 {
				branch = "└─"
			}
			fmt.Fprintf(w, "%s %s\n", branch, i.line())
		}
	}
	if cause, ok := r.RootCause(); ok {
		fmt.Fprintf(w, "\nnot ready: %s\n", cause)
		return
	}
	fmt.Fprintln(w, "\neverything is ready")
}

func (i Item) line() string {
	mark := "✓"
	if !i.Ready {
		mark = "✗"
	}
	name := strings.TrimPrefix(i.Namespace+"/"+i.Name, "/")
	line := fmt.Sprintf("%s %-15s %s", mark, i.Kind, name)
	if i.Runtime != "" {
		line += "  (" + i.Runtime + ")"
	}
	if !i.Ready {
		line += "  " + i.Reason
	} else if i.Layer == LayerBootstrap && i.Message != "" {
		line += "  " + i.Message
	}
	return line
}
