//go:build unix && !linux

package process

import "context"

// EndLeftovers does nothing: this system does not tell the environment of a process. What a supervisor left that was
// killed has to be ended by hand.
func EndLeftovers(context.Context, ...string) ([]string, error) { return nil, nil }

// Command cannot be told on this system.
func Command(int) string { return "" }

// Memory cannot be told on this system.
func Memory(int) int64 { return 0 }
