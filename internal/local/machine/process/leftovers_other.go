//go:build unix && !linux

package process

import "context"

// EndLeftovers does nothing, because this system does not reveal the environment of a process. The user must end the
// leftovers of a killed supervisor.
func EndLeftovers(context.Context, ...string) ([]string, error) { return nil, nil }

// Command returns "" because this system does not reveal it.
func Command(int) string { return "" }

// Memory returns 0 because this system does not reveal it.
func Memory(int) int64 { return 0 }
