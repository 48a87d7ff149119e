package controller

import "time"

// always is the room of slots that are not bounded by memory.
func always(bool) bool { return true }

// advance advances the fake clock of testing/synctest.
func advance(by time.Duration) { <-time.After(by) }
