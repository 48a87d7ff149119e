package lifecycle

// NoJournal is the journal of a target that keeps none: the cluster itself shows the effects of an interrupted down.
type NoJournal struct{}

// BeginDown does nothing.
func (NoJournal) BeginDown(string) error { return nil }

// DownBegun returns no step.
func (NoJournal) DownBegun() (string, bool) { return "", false }

// EndDown does nothing.
func (NoJournal) EndDown() error { return nil }
