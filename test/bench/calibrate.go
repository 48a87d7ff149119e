package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	calibrationRounds = 5
	// A round hashes hashedBlocks blocks of hashedSize bytes.
	hashedBlocks, hashedSize = 64, 8 << 20
	// A round starts startedProcesses processes, one after the other.
	startedProcesses = 100
)

// calibrate returns the seconds that this machine takes for a fixed amount of work: hashes on all cores, and starts of
// processes. Durations of different machines are compared in this unit. It takes the fastest of several rounds, because
// other work of the machine makes a round slower.
func calibrate(ctx context.Context, rounds int) (float64, error) {
	var fastest time.Duration
	for round := range rounds {
		began := time.Now()
		hash()
		for range startedProcesses {
			if err := exec.CommandContext(ctx, "git", "version").Run(); err != nil {
				return 0, fmt.Errorf("calibrate: start git: %w", err)
			}
		}
		if took := time.Since(began); round == 0 || took < fastest {
			fastest = took
		}
	}
	return fastest.Seconds(), nil
}

// hash hashes all blocks, divided among the cores.
func hash() {
	block := make([]byte, hashedSize)
	blocks := make(chan struct{}, hashedBlocks)
	for range hashedBlocks {
		blocks <- struct{}{}
	}
	close(blocks)
	var group sync.WaitGroup
	for range runtime.NumCPU() {
		group.Go(func() {
			for range blocks {
				sha256.Sum256(block)
			}
		})
	}
	group.Wait()
}
