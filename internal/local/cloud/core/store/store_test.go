package store

import (
	"fmt"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"
)

const operations Table = "operations" // <parent>/<operation>

func TestOldOperationsAreRemovedWhenTheyHaveEnded(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "store.db"), operations)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ended := func(op *sqladmin.Operation) bool { return op.Status == "DONE" }
	add := func(parent string, from, count int, status string) {
		t.Helper()
		err := s.Update(func(tx *bbolt.Tx) error {
			for i := range count {
				op := &sqladmin.Operation{Name: fmt.Sprintf("%06d", from+i), Status: status}
				if err := PutOperation(tx, operations, parent+"/"+op.Name, op, ended); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	kept := func(parent string) []*sqladmin.Operation {
		t.Helper()
		var all []*sqladmin.Operation
		err := s.View(func(tx *bbolt.Tx) (err error) {
			all, err = List[sqladmin.Operation](tx, operations, parent+"/")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	add("other", 0, 3, "DONE")
	add("project", 0, keptOperations+10, "DONE")
	if all := kept("project"); len(all) != keptOperations || all[0].Name != "000010" {
		t.Errorf("the store contains %d operations from %s on; want %d from 000010 on", len(all), all[0].Name, keptOperations)
	}
	if all := kept("other"); len(all) != 3 {
		t.Errorf("another parent has %d operations; want its 3", len(all))
	}
	// The store keeps an operation in progress and all newer operations.
	add("busy", 0, 1, "RUNNING")
	add("busy", 1, keptOperations+5, "DONE")
	if all := kept("busy"); len(all) != keptOperations+6 || all[0].Status != "RUNNING" {
		t.Errorf("the store contains %d operations from %s on; want the operation in progress and all newer ones", len(all), all[0].Name)
	}
}
