package gke

// noJournal is the journal of a target that keeps none: the cluster itself shows the effects of an interrupted down.
type noJournal struct{}

// BeginDown does nothing.
func (noJournal) BeginDown(string) error { return nil }

// DownBegun returns no step.
func (noJournal) DownBegun() (string, bool) { return "", false }

// EndDown does nothing.
func (noJournal) EndDown() error { return nil }
