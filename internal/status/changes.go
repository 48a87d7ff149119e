package status

// mostChanges is how many lines say at once what has changed.
const mostChanges = 20

// Changes says in lines what is different in a report from the one before it. Of many changes it says how many more there
// are.
func (r Report) Changes(before Report) []string {
	lines := r.changes(before)
	if left := len(lines) - mostChanges; left > 0 {
		lines = append(lines[:mostChanges], more(left, " changes", r.all))
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

func (r Report) changes(before Report) []string {
	var lines []string
	old := map[key]Item{}
	for _, i := range before.Items {
		old[i.id()] = i
	}
	for _, i := range r.Items {
		last, known := old[i.id()]
		delete(old, i.id())
		switch {
		case known && sameState(last, i):
		case i.Ready:
			lines = append(lines, "✓ "+i.String())
		default:
			lines = append(lines, "✗ "+i.String())
		}
	}
	for _, i := range before.Items {
		if _, gone := old[i.id()]; gone {
			lines = append(lines, "- "+i.ref())
		}
	}
	return lines
}

// id tells items apart: the kinds that have no namespace are in one layer each.
func (i Item) id() key { return key{i.Layer + "/" + i.Kind, i.Namespace, i.Name} }

// sameState leaves out which one is the root cause, and of what is ready everything but that.
func sameState(a, b Item) bool {
	return a.Ready == b.Ready && (a.Ready || a.Reason == b.Reason && a.Message == b.Message)
}
