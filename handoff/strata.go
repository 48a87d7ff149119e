package handoff

// OutputStrata is the stack output of each layer with the version of Strata that ran it last.
const OutputStrata = "strataVersion"
