package status

import (
	"cmp"
	"fmt"
	"slices"
)

// screenful is how many lines are printed where the height of the screen is not known.
const screenful = 60

// branch is a part of the tree: a layer, or one team of the topmost.
type branch struct {
	title string
	// items are positions in the report, and left counts further ones that are not shown.
	items []int
	left  int
}

func (b branch) lines() int {
	if b.left > 0 && len(b.items) > 0 {
		return len(b.items) + 2
	}
	return len(b.items) + 1
}

// fit leaves so much of the tree out that the rest, with the causes below it, has room on a screen of so many lines; 0 are
// those of a screenful. It first shortens branches, and then leaves whole ones out, whose number it returns. What is not
// ready is left out last.
func (r Report) fit(height int) (shown []branch, left int) {
	room := cmp.Or(height, screenful) - r.linesOfCauses(height)
	all := r.branches()
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

func (r Report) isReady(b branch) bool {
	return !slices.ContainsFunc(b.items, func(i int) bool { return !r.Items[i].Ready })
}

// shorten keeps so many items of a branch in their order, those that are not ready before others.
func (r Report) shorten(b branch, most int) branch {
	// A line that says that there is one more takes as much room as that one.
	if len(b.items) <= most+1 && most > 0 {
		return b
	}
	kept := slices.Clone(b.items)
	slices.SortStableFunc(kept, func(x, y int) int { return compareBool(r.Items[x].Ready, r.Items[y].Ready) })
	kept = kept[:min(most, len(kept))]
	slices.Sort(kept)
	left := len(b.items) - len(kept)
	if most == 0 {
		b.title += fmt.Sprintf("  ✓ %d ready", left)
	}
	return branch{title: b.title, items: kept, left: left}
}

// linesOfCauses is how many lines stand below the tree, at most.
func (r Report) linesOfCauses(height int) int {
	const blank, each = 1, 2
	if r.Ready {
		return blank + 1
	}
	return blank + each*min(len(r.causes), mostCauses(height)+1) + 1
}

// mostCauses is how many causes besides the root cause a screen of height lines shows. Most lines are for the tree.
func mostCauses(height int) int {
	const most, tree, share = 4, 10, 4
	return max(0, min(most, (cmp.Or(height, screenful)-tree)/share))
}

// more says how many are left out, and which command has all.
func more(left int, of, command string) string {
	return fmt.Sprintf("… and %d more%s (%s)", left, of, cmp.Or(command, "strata status -o json"))
}
