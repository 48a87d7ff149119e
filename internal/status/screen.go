package status

import (
	"cmp"
	"fmt"
	"slices"
)

// screenful is the number of lines to print if the height of the screen is unknown.
const screenful = 60

// branch is a part of the tree: a layer, or a team in the top layer.
type branch struct {
	title string
	// items are positions in the report. left is the number of omitted items.
	items []int
	left  int
}

// lines returns the number of lines of a branch: its title, its items, and a line that counts the omitted items.
func (b branch) lines() int {
	if b.left > 0 && len(b.items) > 0 {
		return len(b.items) + 2
	}
	return len(b.items) + 1
}

// fitScreen returns the part of the tree that fits on a screen of height lines, together with the causes below it; 0 means
// a screenful. It first shortens branches. If that is not enough, it omits whole branches, and returns their number. It
// omits ready items before others.
func (r Report) fitScreen(height int) (shown []branch, left int) {
	room := cmp.Or(height, screenful) - r.linesOfCauses(height)
	all := r.branches()
	// Each step allows fewer items in a branch: of a branch that is ready, and of one that is not.
	for _, most := range []struct{ ready, not int }{{len(r.Items), len(r.Items)}, {12, 12}, {6, 12}, {3, 12}, {0, 12}, {0, 6}, {0, 3}, {0, 1}} {
		shown = nil
		for _, b := range all {
			if r.isReady(b) {
				shown = append(shown, r.shorten(b, most.ready))
			} else {
				shown = append(shown, r.shorten(b, most.not))
			}
		}
		if lines(shown) <= room {
			return shown, 0
		}
	}
	const moreLine = 1
	for len(shown) > 1 && lines(shown)+moreLine > room {
		last := len(shown) - 1
		for i := last; i >= 0; i-- {
			if r.isReady(all[i]) {
				last = i
				break
			}
		}
		shown, all = slices.Delete(shown, last, last+1), slices.Delete(all, last, last+1)
		left++
	}
	return shown, left
}

func lines(branches []branch) (sum int) {
	for _, b := range branches {
		sum += b.lines()
	}
	return sum
}

// isReady reports whether all items of a branch are ready.
func (r Report) isReady(b branch) bool {
	return !slices.ContainsFunc(b.items, func(i int) bool { return !r.Items[i].Ready })
}

// shorten keeps up to limit items of a branch, in their order. Items that are not ready take precedence.
func (r Report) shorten(b branch, limit int) branch {
	// A line that counts one omitted item takes as much room as the item.
	if len(b.items) <= limit+1 && limit > 0 {
		return b
	}
	kept := slices.Clone(b.items)
	slices.SortStableFunc(kept, func(x, y int) int { return compareBool(r.Items[x].Ready, r.Items[y].Ready) })
	kept = kept[:min(limit, len(kept))]
	slices.Sort(kept)
	left := len(b.items) - len(kept)
	if limit == 0 {
		b.title += fmt.Sprintf("  ✓ %d ready", left)
	}
	return branch{title: b.title, items: kept, left: left}
}

// linesOfCauses returns the maximum number of lines below the tree.
func (r Report) linesOfCauses(height int) int {
	const blank, each = 1, 2
	warnings := len(r.warnings())
	if r.Ready {
		return blank + 1 + warnings
	}
	return blank + each*min(len(r.Causes), mostCauses(height)+1) + 1 + warnings
}

// mostCauses returns the number of causes to show besides the root cause on a screen of height lines. It leaves most lines
// to the tree.
func mostCauses(height int) int {
	const most, tree, share = 4, 10, 4
	return max(0, min(most, (cmp.Or(height, screenful)-tree)/share))
}

// more returns a line that counts omitted items and names the command that prints all of them. of follows the number, as
// in " changes".
func more(left int, of, command string) string {
	return fmt.Sprintf("… and %d more%s (%s)", left, of, cmp.Or(command, "strata status -o json"))
}
