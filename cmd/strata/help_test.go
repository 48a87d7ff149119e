package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/strata-platform/strata/test/docstest"
)

// visible returns all commands that the help shows.
func visible(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	for _, below := range command.Commands() {
		if !below.Hidden {
			all = append(all, visible(below)...)
		}
	}
	return all
}

// called matches a call of strata within a text: after the start of a line, a blank, a quote or a bracket.
var called = regexp.MustCompile("(?m)(?:^|[ (`])(?:bin/)?strata( [^`\n#;|&)\"]+)")

func TestEveryCommandHasHelpAndAValidExample(t *testing.T) {
	began := false
	for _, command := range visible(newRoot(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, &began)) {
		path := command.CommandPath()
		if command.Short == "" || strings.HasSuffix(command.Short, ".") {
			t.Errorf("%s: the short help is %q: one sentence without a full stop", path, command.Short)
		}
		examples := called.FindAllStringSubmatch(command.Example, -1)
		if !slices.ContainsFunc(examples, func(e []string) bool { return strings.HasPrefix("strata"+e[1]+" ", path+" ") }) {
			t.Errorf("%s: no example calls it:\n%s", path, command.Example)
		}
		for _, example := range examples {
			if err := checkStrata(strings.Fields(example[1])); err != nil {
				t.Errorf("%s: example `strata%s`: %v", path, example[1], err)
			}
		}
		command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%s: --%s has no description", path, flag.Name)
			}
		})
	}
}

// fenced matches a code block of a page.
var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// code matches code in prose: inline or indented.
var code = regexp.MustCompile("(?m)`[^`]+`|^ {4}.+$")

// TestCallsInTheDocsAreValid checks the commands and flags of every call in prose. It does not check placeholders for
// arguments, such as NAME.
func TestCallsInTheDocsAreValid(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"../../docs/*/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(more)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		text := docstest.Read(t, strings.TrimPrefix(filepath.ToSlash(page), "../../"))
		for _, match := range code.FindAllString(fenced.ReplaceAllString(text, ""), -1) {
			call := called.FindStringSubmatch(match)
			if call == nil || strings.HasPrefix(match, "`pulumi ") { // A command of pulumi may name the plugin strata.
				continue
			}
			began := false
			command, rest, err := newRoot(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, &began).Find(strings.Fields(call[1]))
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err == nil && command.HasSubCommands() && command.Flags().NArg() > 0 {
				_, _, err = command.Find(command.Flags().Args())
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %s: %v", page, match, err)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("the docs contain only %d calls", checked)
	}
}
