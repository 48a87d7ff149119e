package gke

// noJournal is the journal of a target that keeps none: the cluster itself shows the effects of an interrupted down.
type noJournal struct{}

// BeginDown does nothing.
func (noJournal) BeginDown(string) error { return nil }

// DownBegun returns no step.
func (noJournal) DownBegun() (string, bool) { return "", false }

// EndDown does nothing.
func (noJournal) EndDown() error { return nil }

// BeginUpgrade does nothing: the versions in the states of the layers and in the cluster show the progress of an upgrade.
func (noJournal) BeginUpgrade(string, string) error { return nil }

// UpgradeBegun returns no step.
func (noJournal) UpgradeBegun() (to, step string, begun bool) { return "", "", false }

// EndUpgrade does nothing.
func (noJournal) EndUpgrade() error { return nil }
