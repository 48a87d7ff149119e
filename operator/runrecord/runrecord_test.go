package runrecord_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/strata-platform/strata/operator/runrecord"
)

func TestRecordsAreTakenOnceInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"a", "b", "c"} {
		if err := runrecord.Write(dir, runrecord.Run{ID: id, Began: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("stop")
	var taken string
	take := func(until string) error {
		return runrecord.Take(dir, func(r runrecord.Run) error {
			if r.ID == until {
				return stop
			}
			taken += r.ID
			return nil
		})
	}
	if err := take("b"); !errors.Is(err, stop) || taken != "ac" {
		t.Errorf("the records beside a refused one are %q (%v)", taken, err)
	}
	if err := take(""); err != nil || taken != "acb" {
		t.Errorf("the records are %q (%v)", taken, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the folder contains %v (%v)", left, err)
	}
	if err := runrecord.Write("", runrecord.Run{}); err != nil {
		t.Error(err)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	dir := t.TempDir()
	huge := strings.Repeat("é\x1b[31m\n", 5000)
	r := runrecord.Run{ID: "x", Stack: huge, Message: huge, Approval: &runrecord.Approval{By: huge, Plan: huge}}
	for range 100 {
		r.Tokens = append(r.Tokens, huge)
		r.Changes = append(r.Changes, runrecord.Change{Op: huge, Type: huge, Name: huge, ID: huge})
	}
	if err := runrecord.Write(dir, r); err != nil {
		t.Fatal(err)
	}
	// What is no record, and what leads out of the folder, is removed.
	for name, content := range map[string]string{"0.json": "{", "1.json": strings.Repeat(" ", 1<<20), ".2.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "3.json")); err != nil {
		t.Fatal(err)
	}
	count := 0
	err := runrecord.Take(dir, func(r runrecord.Run) error {
		count++
		if len(r.Stack) > runrecord.LongestText || !utf8.ValidString(r.Stack) || len(r.Approval.By) > runrecord.LongestText || len(r.Tokens) > 10 {
			t.Errorf("the record is %+v", r)
		}
		if len(r.Changes)+r.More != 100 || len(r.Changes) > runrecord.MostChanges {
			t.Errorf("the record has %d changes and %d more", len(r.Changes), r.More)
		}
		return nil
	})
	if err != nil || count != 1 {
		t.Errorf("%d records are taken (%v)", count, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder contains %v (%v); want the record that is being written", left, err)
	}
}
