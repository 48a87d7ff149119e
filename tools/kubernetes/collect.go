package main

import (
	"os"
	"runtime/debug"
	"syscall"
	"time"
)

const (
	// busyPercent and idlePercent are the values of GOGC for a busy and for an idle program. With idlePercent all the time,
	// the first start of a platform takes ten seconds longer; with GOGC=100 all the time, the API server keeps 150 MB
	// more.
	busyPercent, idlePercent = 50, 25

	// idleLoad is the load, in cores, below which a program is idle. The garbage collector's own work counts.
	idleLoad = 0.15
	// loadInterval is the time over which the load is measured.
	loadInterval = 3 * time.Second
)

// collect adapts the garbage collector to the load: a busy program uses memory to save time, and an idle one returns it to
// the system. A GOGC in the environment turns collect off.
func collect() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(busyPercent)
	busy := true
	used := processorTime()
	for range time.Tick(loadInterval) {
		now := processorTime()
		load := (now - used).Seconds() / loadInterval.Seconds()
		used = now
		if busy == (load > idleLoad) {
			continue
		}
		if busy = !busy; busy {
			debug.SetGCPercent(busyPercent)
			continue
		}
		debug.SetGCPercent(idlePercent)
		debug.FreeOSMemory()
		debug.FreeOSMemory()   // the first one has only marked the content of pools and what finalizers hold
		used = processorTime() // without FreeOSMemory's own work
	}
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
