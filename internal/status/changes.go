package status

// mostChanges is the maximum number of lines about changed items.
const mostChanges = 20

// Changes returns a line for each item that differs from the older report, then a line for a new root cause, or for a
// platform that has become ready. If too many items differ, a line counts the omitted ones.
func (r Report) Changes(before Report) []string {
	lines := r.changes(before)
	if left := len(lines) - mostChanges; left > 0 {
		lines = append(lines[:mostChanges], more(left, " changes", r.Command))
	}
	switch cause, found := r.RootCause(); {
	case r.Ready && !before.Ready:
		lines = append(lines, "everything is ready")
	case found:
		if last, had := before.RootCause(); !had || last != cause {
			lines = append(lines, "not ready: "+cause.Cause())
		}
	}
	return lines
}

// changes returns a line for each item that has changed, in the order of the report, and then one for each deleted item.
func (r Report) changes(before Report) []string {
	var lines []string
	old := map[id]Item{}
	for _, i := range before.Items {
		old[i.id()] = i
	}
	for _, i := range r.Items {
		last, known := old[i.id()]
		delete(old, i.id())
		switch {
		case known && sameState(last, i):
		default:
			sign, _ := i.mark()
			lines = append(lines, sign+" "+i.String())
		}
	}
	for _, i := range before.Items {
		if _, gone := old[i.id()]; gone {
			lines = append(lines, "- "+i.Ref())
		}
	}
	return lines
}

// id identifies an item in two reports. Two layers may each have an item of the same kind and name without a namespace, so
// the layer is a part of it.
type id struct{ layer, kind, namespace, name string }

func (i Item) id() id { return id{i.Layer, i.Kind, i.Namespace, i.Name} }

// sameState reports whether two items have the same state. It ignores which item is the root cause, and
// the reasons and messages of ready items.
func sameState(a, b Item) bool {
	return a.Ready == b.Ready && (a.Ready || a.Reason == b.Reason && a.Message == b.Message)
}
