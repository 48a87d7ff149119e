package sandboxes

// Diagnose gives tests diagnose, which reads settings through a function.
var Diagnose = diagnose

// KillHelper kills the helper process.
func (h *Host) KillHelper() error { return h.helper.Kill() }
