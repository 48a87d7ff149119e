//strata:replace github.com/ccojocar/zxcvbn-go@v1.0.1 matching/matching.go
//strata:replace github.com/nbutton23/zxcvbn-go@v0.0.0-20180912185939-ae427f1e4c1d matching/matching.go

// Package matching finds patterns in passwords.
//
// The pinned package builds its dictionaries at the start of every program that links it. This file builds them when a
// password is first checked; see the file for package frequency.
package matching

import (
	"sort"
	"sync"

	"github.com/ccojocar/zxcvbn-go/adjacency"
	"github.com/ccojocar/zxcvbn-go/frequency"
	"github.com/ccojocar/zxcvbn-go/match"
)

// prepare sets these variables, which the other files of the package read.
var (
	dictionaryMatchers []match.Matcher
	matchers           []match.Matcher
	adjacencyGraphs    []adjacency.Graph
	l33tTable          adjacency.Graph
	sequences          map[string]string
)

var prepare = sync.OnceFunc(func() {
	for name, list := range frequency.Lists() {
		dictionaryMatchers = append(dictionaryMatchers, match.Matcher{ID: name, MatchingFunc: buildDictMatcher(name, buildRankedDict(list.List))})
	}
	for _, keyboard := range []string{"qwerty", "dvorak", "keypad", "macKeypad"} {
		adjacencyGraphs = append(adjacencyGraphs, adjacency.GraphMap[keyboard])
	}
	l33tTable = adjacency.GraphMap["l33t"]
	sequences = map[string]string{
		"lower": "abcdefghijklmnopqrstuvwxyz", "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "digits": "0123456789",
	}
	matchers = append(append(matchers, dictionaryMatchers...),
		match.Matcher{ID: spatialMatcherName, MatchingFunc: spatialMatch},
		match.Matcher{ID: repeatMatcherName, MatchingFunc: repeatMatch},
		match.Matcher{ID: sequenceMatcherName, MatchingFunc: sequenceMatch},
		match.Matcher{ID: L33TMatcherName, MatchingFunc: l33tMatch},
		match.Matcher{ID: dateSepMatcherName, MatchingFunc: dateSepMatcher},
		match.Matcher{ID: dateWithOutSepMatcherName, MatchingFunc: dateWithoutSepMatch})
})

// Omnimatch returns the matches of all matchers in a password, except of those for which a filter returns true. The words
// of userInputs are a further dictionary.
func Omnimatch(password string, userInputs []string, filters ...func(match.Matcher) bool) (matches []match.Match) {
	prepare()
	if userInputs != nil {
		matches = buildDictMatcher("user_inputs", buildRankedDict(userInputs))(password)
	}
	for _, matcher := range matchers {
		excluded := false
		for _, filter := range filters {
			excluded = excluded || filter(matcher)
		}
		if !excluded {
			matches = append(matches, matcher.MatchingFunc(password)...)
		}
	}
	sort.Sort(match.Matches(matches))
	return matches
}
