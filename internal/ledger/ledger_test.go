package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/signing"
)

// note is the content of the entries of the tests.
type note struct {
	Text string `json:"text"`
}

func newKey(t testing.TB) *signing.Key {
	t.Helper()
	key, err := signing.EnsureKey("the test's key", filepath.Join(t.TempDir(), "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func open(t testing.TB, dir string, key *signing.Key) *Ledger {
	t.Helper()
	l, err := Open(Options{Dir: dir, Key: key, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t testing.TB, l *Ledger, chain string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := l.Append(chain, "note", note{text}); err != nil {
			t.Fatal(err)
		}
	}
}

func shut(t testing.TB, l *Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantProblems verifies the ledger. Each problem must contain the words at its place.
func wantProblems(t testing.TB, dir string, key *signing.Key, words ...string) Verified {
	t.Helper()
	v, err := Verify(t.Context(), dir, key)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Problems) != len(words) {
		t.Fatalf("the problems are %v; want %q", v.Problems, words)
	}
	for i, problem := range v.Problems {
		if !strings.Contains(problem.String(), words[i]) {
			t.Errorf("the problem is %q; want %q", problem, words[i])
		}
	}
	return v
}

// texts returns the notes of a chain.
func texts(t testing.TB, dir, chain string) (found []string) {
	t.Helper()
	err := Each(dir, chain, func(e Entry) error {
		var n note
		found = append(found, fmt.Sprint(e.Decode(&n), n.Text)[len("<nil>"):])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const one = "000000000001" + segmentSuffix

func TestEntriesOutliveTheirWriter(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	l := open(t, dir, key)
	add(t, l, "team-web", "a\x1b[31m", "b")
	add(t, l, "bootstrap", "c")
	shut(t, l)
	if err := l.Append("team-web", "note", note{"d"}); err == nil {
		t.Error("a closed ledger accepts an entry")
	}
	l = open(t, dir, key)
	add(t, l, "team-web", "e")
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	v := wantProblems(t, dir, key)
	if v.Entries != 4 || v.Heads.Chains["team-web"].Seq != 3 {
		t.Errorf("the ledger has %d entries, and its heads are %v", v.Entries, v.Heads)
	}
	if got := texts(t, dir, "team-web"); strings.Join(got, " ") != "a\x1b[31m b e" {
		t.Errorf("the entries are %q", got)
	}
	content, err := os.ReadFile(filepath.Join(dir, "team-web", one))
	if err != nil || bytes.ContainsRune(content, '\x1b') {
		t.Errorf("the file contains a control character (%v)", err)
	}
	for _, name := range []string{"", "../x", "Team", "a/b", strings.Repeat("x", 80)} {
		if err := l.Append(name, "note", note{}); err == nil {
			t.Errorf("the ledger has a chain %q", name)
		}
	}
	if err := l.Append("team-web", "note", note{strings.Repeat("x", maxEntry)}); err == nil || !strings.Contains(err.Error(), "the most is") {
		t.Errorf("the error of a large entry is %v", err)
	}
}

// TestTamperingIsFound changes the files of a ledger as somebody without the key can.
func TestTamperingIsFound(t *testing.T) {
	lines := func(change func(all []string) []string) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, "team-web", one)
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(strings.Join(change(strings.SplitAfter(string(content), "\n")), "")), 0o600)
		}
	}
	// forged returns an entry that follows the one in a line.
	forged := func(after, text string) string {
		e, _, err := decode("team-web", []byte(strings.TrimSuffix(after, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		raw, _, err := encode("team-web", e.Hash, Body{Seq: e.Seq + 1, Time: e.Time, Kind: e.Kind, Data: fmt.Appendf(nil, `{"text":%q}`, text)})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const place = "entry 2 (%s, line 2)"
	for name, test := range map[string]struct {
		change func(dir string) error
		want   []string
	}{
		"a changed text": {lines(func(all []string) []string {
			all[1] = strings.Replace(all[1], `"two"`, `"too"`, 1)
			return all
		}), []string{"somebody has changed it"}},
		"a changed text with a new hash": {lines(func(all []string) []string {
			all[1] = forged(all[0], "too")
			return all
		}), []string{"entry 3 "}},
		"a field that the hash does not cover": {lines(func(all []string) []string {
			all[1] = strings.Replace(all[1], `{"hash"`, `{"body":{"text":"too"},"hash"`, 1)
			return all
		}), []string{"not in the form of an entry"}},
		"a missing entry":     {lines(func(all []string) []string { return append(all[:1], all[2:]...) }), []string{"its number is 3"}},
		"exchanged entries":   {lines(func(all []string) []string { all[1], all[2] = all[2], all[1]; return all }), []string{"its number is 3"}},
		"a repeated entry":    {lines(func(all []string) []string { return append(all[:2], all[1:]...) }), []string{"its number is 2"}},
		"an added entry":      {lines(func(all []string) []string { return append(all[:3], forged(all[2], "four")) }), []string{"behind the signed head"}},
		"a replaced last one": {lines(func(all []string) []string { return append(all[:2], forged(all[1], "33")) }), []string{"not the entry that the signed head names"}},
		"a missing tail":      {lines(func(all []string) []string { return all[:2] }), []string{"entry 3: it is missing: the signed head is entry 3"}},
		"garbage":             {lines(func(all []string) []string { all[1] = "\x00\n"; return all }), []string{"the line is not an entry"}},
		"an empty file":       {lines(func([]string) []string { return nil }), []string{"entry 1: it is missing"}},
		"a missing chain":     {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "team-web")) }, []string{"entry 1: it is missing"}},
		"missing heads":       {func(dir string) error { return os.Remove(filepath.Join(dir, HeadsFile)) }, []string{"heads.json: the signed heads are missing"}},
		"a chain of its own":  {func(dir string) error { return os.Mkdir(filepath.Join(dir, "team-evil"), 0o700) }, []string{"chain team-evil: the signed heads do not contain"}},
		"a chain under a name": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "bootstrap")), os.Rename(filepath.Join(dir, "team-web"), filepath.Join(dir, "bootstrap")))
		}, []string{"chain bootstrap, entry 1", "chain team-web, entry 1: it is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, key := t.TempDir(), newKey(t)
			l := open(t, dir, key)
			add(t, l, "team-web", "one", "two", "three")
			add(t, l, "bootstrap", "one")
			shut(t, l)
			wantProblems(t, dir, key)
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			v := wantProblems(t, dir, key, test.want...)
			if name == "a changed text" {
				if at := fmt.Sprintf(place, filepath.Join(dir, "team-web", one)); !strings.Contains(v.Problems[0].String(), at) {
					t.Errorf("the problem is %q; want its place %q", v.Problems[0], at)
				}
			}
			// A platform that goes on hides nothing, except that it signs an entry behind the head.
			l = open(t, dir, key)
			add(t, l, "team-web", "later")
			shut(t, l)
			if v, err := Verify(t.Context(), dir, key); err != nil || len(v.Problems) == 0 && name != "an added entry" && name != "a chain of its own" {
				t.Errorf("after the platform has gone on, the problems are %v (%v)", v.Problems, err)
			}
		})
	}
}

func TestHeadsOfAnotherKeyAreRefused(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, newKey(t))
	add(t, l, "team-web", "one")
	shut(t, l)
	if _, err := Verify(t.Context(), dir, newKey(t)); err == nil || !strings.Contains(err.Error(), "is not of this home's key") {
		t.Errorf("the error is %v", err)
	}
}

// TestACrashLosesNoEntry restores the heads of an earlier time, as after a kill between an entry and its signature.
func TestACrashLosesNoEntry(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	l := open(t, dir, key)
	l.segment = 600 // three entries
	add(t, l, "team-web", "1", "2")
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	heads, err := os.ReadFile(filepath.Join(dir, HeadsFile))
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, "team-web", "3", "4", "5")
	shut(t, l)
	segments, err := segmentsOf(filepath.Join(dir, "team-web"))
	if err != nil || len(segments) < 2 {
		t.Fatalf("the chain has the files %v (%v); want two", segments, err)
	}
	last, err := os.OpenFile(segments[len(segments)-1].path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = last.WriteString(`{"hash":"0`)
	if err := errors.Join(err, last.Close(), os.WriteFile(filepath.Join(dir, HeadsFile), heads, 0o600)); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, key)
	add(t, l, "team-web", "6")
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	wantProblems(t, dir, key)
	if got := strings.Join(texts(t, dir, "team-web"), ""); got != "123456" {
		t.Errorf("the entries are %q", got)
	}
}

func TestALongChainLosesItsOldestEntriesOnly(t *testing.T) {
	dir, key := t.TempDir(), newKey(t)
	l := open(t, dir, key)
	l.segment = 1 // one entry in each file
	for i := range 3 * mostSegments {
		add(t, l, "team-web", fmt.Sprint(i))
	}
	add(t, l, "team-api", "other")
	shut(t, l)
	v := wantProblems(t, dir, key)
	if head := v.Heads.Chains["team-web"]; v.Entries != mostSegments+1 || head.First != 2*mostSegments+1 || head.Seq != 3*mostSegments {
		t.Errorf("the ledger has %d entries, and the head is %+v", v.Entries, head)
	}
	if got := texts(t, dir, "team-web"); len(got) != mostSegments || got[0] != fmt.Sprint(2*mostSegments) {
		t.Errorf("the entries are %q", got)
	}
	// Who removes one more file is found.
	segments, err := segmentsOf(filepath.Join(dir, "team-web"))
	if err := errors.Join(err, os.Remove(segments[0].path)); err != nil {
		t.Fatal(err)
	}
	wantProblems(t, dir, key, fmt.Sprintf("its number is %d", 2*mostSegments+2))
}

func TestManyWritersAndAReader(t *testing.T) {
	const each, writers = 1250, 8
	dir, key := t.TempDir(), newKey(t)
	l := open(t, dir, key)
	began := time.Now()
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for range each {
				add(t, l, fmt.Sprintf("team-%d", i%3), strings.Repeat("x", 300))
			}
		})
	}
	wantNone := func() {
		v, err := Verify(t.Context(), dir, key)
		if err != nil || len(v.Problems) != 0 {
			t.Errorf("while others write, the problems are %v (%v)", v.Problems, err)
		}
	}
	group.Wait()
	wantNone()
	t.Logf("%d entries in %s", each*writers, time.Since(began))
	began = time.Now()
	if v := wantProblems(t, dir, key); v.Entries != each*writers {
		t.Errorf("the ledger has %d entries", v.Entries)
	}
	t.Logf("verified in %s", time.Since(began))
}

func BenchmarkAppend(b *testing.B) {
	l := open(b, b.TempDir(), newKey(b))
	for b.Loop() {
		add(b, l, "team-web", "the text of an entry")
	}
}
