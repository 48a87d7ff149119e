package status

import "slices"

// Changes says in lines what is different in a report from the one before it.
func (r Report) Changes(before Report) []string {
	var lines []string
	for _, i := range r.Items {
		old := slices.IndexFunc(before.Items, i.same)
		switch {
		case old >= 0 && sameState(before.Items[old], i):
		case i.Ready:
			lines = append(lines, "✓ "+i.String())
		default:
			lines = append(lines, "✗ "+i.String())
		}
	}
	for _, i := range before.Items {
		if !slices.ContainsFunc(r.Items, i.same) {
			lines = append(lines, "- "+i.ref())
		}
	}
	switch cause, found := r.RootCause(); {
	case r.Ready && !before.Ready:
		lines = append(lines, "everything is ready")
	case found:
		if last, had := before.RootCause(); !had || last != cause {
			lines = append(lines, "not ready: "+cause.cause())
		}
	}
	return lines
}

func (i Item) same(other Item) bool {
	return i.Layer == other.Layer && i.Kind == other.Kind && i.Namespace == other.Namespace && i.Name == other.Name
}

// sameState leaves out which one is the root cause, and of what is ready everything but that.
func sameState(a, b Item) bool {
	return a.Ready == b.Ready && (a.Ready || a.Reason == b.Reason && a.Message == b.Message)
}
