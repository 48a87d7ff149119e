package message

import "slices"

// mostEdits is the maximum number of changed letters at which Closest still takes two names for the same.
const mostEdits = 2

// DidYouMean returns the end of a message that suggests the known name that is closest to a mistyped one, such as
// `: did you mean "instance"?`. It returns an empty string if no known name is close.
func DidYouMean(name string, known []string) string {
	best, at := "", mostEdits+1
	for _, each := range slices.Sorted(slices.Values(known)) {
		// A name of three letters differs from most others of three letters by two.
		if edits := distance(name, each); edits < at && edits*2 < min(len(name), len(each)) {
			best, at = each, edits
		}
	}
	if best == "" || at == 0 {
		return ""
	}
	return `: did you mean "` + ShortName(best) + `"?`
}

// distance returns the number of letters to insert, delete, replace or exchange with their neighbour that turns one name into
// the other (the optimal string alignment distance), or more than mostEdits for names that differ more.
func distance(a, b string) int {
	if difference := len(a) - len(b); difference > mostEdits || -difference > mostEdits || len(a) > 200 {
		return mostEdits + 1
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
