package docstest_test

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/test/docstest"
)

// phrases maps phrases that CONTRIBUTING forbids to the advice in the message. An underscore stands for the space between
// two words, so that this table does not contain the phrases themselves.
var phrases = map[string]string{
	"of_which":             "name the noun again, in a sentence of its own",
	"who" + "m":            "name the people or the account", // in two parts, because the phrase is one word
	"what_was_made":        "name the created objects",
	"what_is_made":         "name the created objects",
	"what_it_made":         "name the created objects: its resources",
	"what_there_is":        "name the objects",
	"on_its_way":           "write: in progress",
	"what_lacks":           "write: the missing ..., by its noun",
	"what_it_lacks":        "write: the missing ..., by its noun",
	"none_of_ours":         "say what it is: an unknown ...",
	"leads_to_that":        "name the cause and the effect",
	"there_is_none_behind": "say what is missing",
	"goes_by_itself":       "say who ends it",
	"in_vain":              "write: timeout, or: without success",
	"whatever_there_is":    "write: all, with the noun",
}

// phrasePattern returns the pattern of a phrase, which may continue on the next line of a comment.
func phrasePattern(phrase string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(phrase, "_", `(?:[\s/#|]|\\n)+`) + `\b`)
}

// TestWordsAreThoseOfTheField looks for forbidden phrases in all comments, strings and documents.
func TestWordsAreThoseOfTheField(t *testing.T) {
	patterns := map[string]*regexp.Regexp{}
	for phrase := range phrases {
		patterns[phrase] = phrasePattern(phrase)
	}
	for _, name := range slices.Concat(files(t, ".go", "bin"), files(t, ".md", "bin"), files(t, ".yaml", "bin")) {
		text := docstest.Read(t, name)
		switch {
		case isGenerated(name, text):
			continue
		case path.Ext(name) == ".go":
			text = proseOfGo(text)
		case name == "CONTRIBUTING.md":
			text = withoutPairs(text)
		}
		for phrase, pattern := range patterns {
			for _, at := range pattern.FindAllStringIndex(text, -1) {
				line := strings.Count(text[:at[0]], "\n") + 1
				t.Errorf("%s:%d: %q: %s", name, line, strings.ReplaceAll(phrase, "_", " "), phrases[phrase])
			}
		}
	}
}

// isGenerated reports whether a program writes a file. The words of a generated file come from its source.
func isGenerated(name, text string) bool {
	return strings.HasPrefix(path.Base(name), "zz_generated.") || strings.Contains(name, "config/crd/bases/") ||
		regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`).MatchString(text)
}

// proseOfGo returns a Go file in which blanks replace everything except comments, strings and line ends.
func proseOfGo(source string) string {
	// Bytes, because the scanner's offsets count bytes.
	prose := []byte(source)
	for i, b := range prose {
		if b != '\n' {
			prose[i] = ' '
		}
	}
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return string(prose)
		case token.COMMENT, token.STRING:
			copy(prose[file.Offset(at):], text)
		}
	}
}

// withoutPairs returns CONTRIBUTING without the rows of its table of sentences before and after.
func withoutPairs(text string) string {
	before, words, _ := strings.Cut(text, "\n## Words\n")
	words, after, _ := strings.Cut(words, "\n## ")
	return before + "\n## Words\n" + regexp.MustCompile(`(?m)^\|.*$`).ReplaceAllString(words, "") + "\n## " + after
}

func TestPhrasesAreFound(t *testing.T) {
	pattern := phrasePattern("green_cheese")
	for text, want := range map[string]bool{
		"// made of green cheese.":    true,
		"Green\n\t// cheese is rare.": true,
		"evergreen cheese":            false,
		"green_cheese":                false,
	} {
		if got := pattern.MatchString(text); got != want {
			t.Errorf("%q matches: %t, want %t", text, got, want)
		}
	}
	const source = "package green // cheese\n\nvar green = \"a\" + cheese"
	if got, want := strings.Fields(proseOfGo(source)), []string{"//", "cheese", `"a"`}; !slices.Equal(got, want) {
		t.Errorf("the prose is %q, want %q", got, want)
	}
}
