package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/test/bench/figure"
)

// landedFile is the path of the landed figures in the repository. `make bench UPDATE=1` writes the file.
const landedFile = "bench/figures.json"

const (
	// mostRatio is the highest accepted ratio between a figure and the landed one. Figures of the same commit differ by
	// about a third.
	mostRatio = 1.5
	// mostMemoryRatio is the same for memory. Runs of the same commit differ by about a tenth.
	mostMemoryRatio = 1.25
	// negligible is the number of seconds below which durations are too short to compare.
	negligible = 0.2
)

// landedFigure is a figure in landedFile. Calibration is the result of calibrate in the run that measured the figure.
type landedFigure struct {
	Measured    float64 `json:"measured"`
	Unit        string  `json:"unit"`
	Calibration float64 `json:"calibration"`
}

// cost returns the figure as a number that is higher for a worse result, and does not depend on the machine's speed.
func (f landedFigure) cost() float64 {
	switch f.Unit {
	case "s", "ms":
		return f.Measured / f.Calibration
	case "/min":
		return 1 / (f.Measured * f.Calibration)
	}
	return f.Measured
}

// seconds returns a duration in seconds. For any other unit ok is false.
func (f landedFigure) seconds() (seconds float64, ok bool) {
	switch f.Unit {
	case "s":
		return f.Measured, true
	case "ms":
		return f.Measured / 1000, true
	}
	return 0, false
}

// ratio returns the ratio of a figure's cost to the landed cost: 2 is twice as bad. It is 0 if the figures cannot be
// compared.
func ratio(now, landed landedFigure) float64 {
	if now.Unit != landed.Unit || now.Measured <= 0 || landed.Measured <= 0 {
		return 0
	}
	if seconds, ok := now.seconds(); ok {
		if before, _ := landed.seconds(); max(seconds, before) < negligible {
			return 0
		}
	}
	return now.cost() / landed.cost()
}

// highestRatio returns the highest accepted ratio for figures of a unit.
func highestRatio(unit string) float64 {
	if unit == "MB" {
		return mostMemoryRatio
	}
	return mostRatio
}

// compare returns the figures with their ratios to the landed ones.
func compare(figures []figure.Figure, landed map[string]landedFigure, calibration float64) []row {
	rows := []row{}
	for _, f := range figures {
		r := row{Figure: f, Landed: landed[f.Name].Measured, Ratio: ratio(landedFigure{f.Measured, f.Unit, calibration}, landed[f.Name])}
		r.OK = r.OK && r.Ratio <= highestRatio(f.Unit)
		rows = append(rows, r)
	}
	return rows
}

// readLanded reads the landed figures by name. A missing file means none.
func readLanded(root string) (map[string]landedFigure, error) {
	raw, err := os.ReadFile(filepath.Join(root, landedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var landed map[string]landedFigure
	if err := json.Unmarshal(raw, &landed); err != nil {
		return nil, fmt.Errorf("read %s: %w", landedFile, err)
	}
	return landed, nil
}

// writeLanded writes the figures over the landed ones of the same names. Other landed figures stay: a run may measure
// some figures only.
func writeLanded(root string, landed map[string]landedFigure, figures []figure.Figure, calibration float64) error {
	all := map[string]landedFigure{}
	maps.Copy(all, landed)
	for _, f := range figures {
		all[f.Name] = landedFigure{f.Measured, f.Unit, calibration}
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(root, landedFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
