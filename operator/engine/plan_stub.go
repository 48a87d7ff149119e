package engine

// Plan shows what Up would do, without secrets.
const Plan Operation = "plan"

// HiddenValue replaces a value that a plan must not see.
const HiddenValue = "[secret]"
