// Package store keeps the records of the emulated Google Cloud in one file.
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Table is one kind of record in the store. Keys are paths, so that the records under a prefix are the children of a
// parent. Each package declares its own tables.
type Table string

// Store holds the emulator's records. A write is on disk when its transaction returns.
type Store struct {
	db *bbolt.DB
}

// Open opens the store in a file, and creates the file and the tables that do not exist.
func Open(path string, tables ...Table) (*Store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("open the store %s: another process holds it; stop the other emulator of this home first", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, t := range tables {
			if _, err := tx.CreateBucketIfNotExists([]byte(t)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("prepare the store %s: %w", path, err)
	}
	return &Store{db: db}, nil
}

// View runs fn in a read-only transaction.
func (s *Store) View(fn func(*bbolt.Tx) error) error { return s.db.View(fn) }

// Update runs fn in a transaction that may write. If fn returns an error, Update writes nothing.
func (s *Store) Update(fn func(*bbolt.Tx) error) error { return s.db.Update(fn) }

// Close waits for the transactions in progress and closes the store.
func (s *Store) Close() error { return s.db.Close() }

// Get returns the record under key, or nil if there is none.
func Get[T any](tx *bbolt.Tx, t Table, key string) (*T, error) {
	data := tx.Bucket([]byte(t)).Get([]byte(key))
	if data == nil {
		return nil, nil
	}
	return DecodeRecord[T](t, key, data)
}

// Put stores a record in JSON under key.
func Put(tx *bbolt.Tx, t Table, key string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode %s %q: %w", t, key, err)
	}
	return tx.Bucket([]byte(t)).Put([]byte(key), data)
}

// Remove removes the record under key. It succeeds if there is none.
func Remove(tx *bbolt.Tx, t Table, key string) error {
	return tx.Bucket([]byte(t)).Delete([]byte(key))
}

// Each calls fn with every record whose key begins with prefix, in the order of the keys. fn must not write to t.
func Each[T any](tx *bbolt.Tx, t Table, prefix string, fn func(key string, record *T) error) error {
	cursor := tx.Bucket([]byte(t)).Cursor()
	for k, v := cursor.Seek([]byte(prefix)); k != nil && len(k) >= len(prefix) && string(k[:len(prefix)]) == prefix; k, v = cursor.Next() {
		record, err := DecodeRecord[T](t, string(k), v)
		if err != nil {
			return err
		}
		if err := fn(string(k), record); err != nil {
			return err
		}
	}
	return nil
}

// List returns every record whose key begins with prefix.
func List[T any](tx *bbolt.Tx, t Table, prefix string) ([]*T, error) {
	var records []*T
	err := Each(tx, t, prefix, func(_ string, record *T) error {
		records = append(records, record)
		return nil
	})
	return records, err
}

// RemoveAll removes every record whose key begins with prefix.
func RemoveAll(tx *bbolt.Tx, t Table, prefix string) error {
	return RemoveIf(tx, t, prefix, func(*json.RawMessage) bool { return true })
}

// RemoveIf removes the records for which condition returns true, among those whose key begins with prefix.
func RemoveIf[T any](tx *bbolt.Tx, t Table, prefix string, condition func(*T) bool) error {
	var keys []string
	err := Each(tx, t, prefix, func(key string, record *T) error {
		if condition(record) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := Remove(tx, t, key); err != nil {
			return err
		}
	}
	return nil
}

// keptOperations is the number of operations that the store keeps per parent.
const keptOperations = 1000

// PutOperation stores an operation, whose key must end in a name that sorts by time. It then removes the oldest
// operations of the parent beyond keptOperations, but none that is newer than an operation in progress.
func PutOperation[T any](tx *bbolt.Tx, t Table, key string, operation *T, ended func(*T) bool) error {
	if err := Put(tx, t, key, operation); err != nil {
		return err
	}
	parent := []byte(key[:strings.LastIndex(key, "/")+1])
	cursor := tx.Bucket([]byte(t)).Cursor()
	count := 0
	for k, _ := cursor.Seek(parent); bytes.HasPrefix(k, parent); k, _ = cursor.Next() {
		count++
	}
	for ; count > keptOperations; count-- {
		k, v := cursor.Seek(parent)
		old, err := DecodeRecord[T](t, string(k), v)
		if err != nil || !ended(old) {
			return err
		}
		if err := cursor.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// DecodeRecord decodes the data of a record.
func DecodeRecord[T any](t Table, key string, data []byte) (*T, error) {
	record := new(T)
	if err := json.Unmarshal(data, record); err != nil {
		return nil, fmt.Errorf("decode %s %q: %w", t, key, err)
	}
	return record, nil
}
