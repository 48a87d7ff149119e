package status

// mostChanges is the maximum number of lines about changes.
const mostChanges = 20

// Changes returns lines with the differences from the previous report. If there are too many, the last line counts the
// omitted ones.
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

// id identifies an item in two reports. A kind without a namespace belongs to one layer, so the layer is part of the id.
func (i Item) id() key { return key{i.Layer + "/" + i.Kind, i.Namespace, i.Name} }

// sameState reports whether two items have the same state. It ignores which item is the root cause. For ready items it
// ignores reason and message.
func sameState(a, b Item) bool {
	return a.Ready == b.Ready && (a.Ready || a.Reason == b.Reason && a.Message == b.Message)
}
