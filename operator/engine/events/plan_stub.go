package events

// Plan is what an update would do.
type Plan struct {
	State            string
	Steps            []PlannedStep
	More, Uncompared int
}

// PlannedStep is the change of one resource.
type PlannedStep struct {
	Op, Name, Type string
	Fields         []PlannedField
	More           int
}

// PlannedField is a field that changes.
type PlannedField struct {
	Path, Before, After string
	Replaces            bool
}
