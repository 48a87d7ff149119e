package cloud

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

// table is one kind of record in the store. Keys are paths, so that a prefix lists a parent's children. Each package
// declares its own tables.
type table string

// store holds the emulator's records. A write is on disk when its transaction returns.
type store struct {
	db *bbolt.DB
}

// openStore opens the store in a file, and creates the file and the tables that do not exist.
func openStore(path string, tables ...table) (*store, error) {
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
	return &store{db: db}, nil
}

func (s *store) view(fn func(*bbolt.Tx) error) error   { return s.db.View(fn) }
func (s *store) update(fn func(*bbolt.Tx) error) error { return s.db.Update(fn) }
func (s *store) close() error                          { return s.db.Close() }

// get returns the record under key, or nil if there is none.
func get[T any](tx *bbolt.Tx, t table, key string) (*T, error) {
	data := tx.Bucket([]byte(t)).Get([]byte(key))
	if data == nil {
		return nil, nil
	}
	return decodeRecord[T](t, key, data)
}

func put(tx *bbolt.Tx, t table, key string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode %s %q: %w", t, key, err)
	}
	return tx.Bucket([]byte(t)).Put([]byte(key), data)
}

func remove(tx *bbolt.Tx, t table, key string) error {
	return tx.Bucket([]byte(t)).Delete([]byte(key))
}

// each calls fn with every record whose key begins with prefix, in the order of the keys. fn must not write to t.
func each[T any](tx *bbolt.Tx, t table, prefix string, fn func(key string, record *T) error) error {
	cursor := tx.Bucket([]byte(t)).Cursor()
	for k, v := cursor.Seek([]byte(prefix)); k != nil && len(k) >= len(prefix) && string(k[:len(prefix)]) == prefix; k, v = cursor.Next() {
		record, err := decodeRecord[T](t, string(k), v)
		if err != nil {
			return err
		}
		if err := fn(string(k), record); err != nil {
			return err
		}
	}
	return nil
}

// list returns every record whose key begins with prefix.
func list[T any](tx *bbolt.Tx, t table, prefix string) ([]*T, error) {
	var records []*T
	err := each(tx, t, prefix, func(_ string, record *T) error {
		records = append(records, record)
		return nil
	})
	return records, err
}

// removeAll removes every record whose key begins with prefix.
func removeAll(tx *bbolt.Tx, t table, prefix string) error {
	return removeIf(tx, t, prefix, func(*json.RawMessage) bool { return true })
}

// removeIf removes the records that useless accepts, among those whose key begins with prefix.
func removeIf[T any](tx *bbolt.Tx, t table, prefix string, useless func(*T) bool) error {
	var keys []string
	err := each(tx, t, prefix, func(key string, record *T) error {
		if useless(record) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := remove(tx, t, key); err != nil {
			return err
		}
	}
	return nil
}

// keptOperations is the number of operations that the store keeps per parent.
const keptOperations = 1000

// putOperation stores an operation, whose key must end in a name that sorts by time. It then removes the parent's
// oldest operations beyond keptOperations, up to the first that has not ended.
func putOperation[T any](tx *bbolt.Tx, t table, key string, operation *T, ended func(*T) bool) error {
	if err := put(tx, t, key, operation); err != nil {
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
		old, err := decodeRecord[T](t, string(k), v)
		if err != nil || !ended(old) {
			return err
		}
		if err := cursor.Delete(); err != nil {
			return err
		}
	}
	return nil
}

func decodeRecord[T any](t table, key string, data []byte) (*T, error) {
	record := new(T)
	if err := json.Unmarshal(data, record); err != nil {
		return nil, fmt.Errorf("decode %s %q: %w", t, key, err)
	}
	return record, nil
}
