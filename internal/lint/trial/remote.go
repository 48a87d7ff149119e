package trial

import (
	"bytes"
	"encoding/gob"
	"io/fs"
	"path"
	"time"
)

// remote is a repository that the other process reads.
type remote struct {
	hears *gob.Decoder
	says  *gob.Encoder
	// folders caches the listed folders of the current repository.
	folders map[string]answer
}

// forget clears the cache for another repository.
func (r *remote) forget() { r.folders = map[string]answer{} }

// look requests a path. Its errors are those of the functions of io/fs.
func (r *remote) look(op string, needs need, name string) (answer, error) {
	if known, ok := r.folders[name]; ok && needs != content {
		return known, nil
	}
	// Most questions ask whether a folder contains a file with a certain name.
	if folder, ok := r.folders[path.Dir(name)]; ok && name != "." && !folder.has(path.Base(name)) {
		return answer{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	var found answer
	err := r.says.Encode(message{Needs: needs, Path: name})
	if err == nil {
		err = r.hears.Decode(&found)
	}
	if err == nil && !found.Exists {
		err = fs.ErrNotExist
	}
	if err != nil {
		return answer{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if needs == entries {
		r.folders[name] = found
	}
	return found, nil
}

func (a answer) has(name string) bool {
	for _, each := range a.Entries {
		if each.Name == name {
			return true
		}
	}
	return false
}

// Open implements fs.FS.
func (r *remote) Open(name string) (fs.File, error) {
	found, err := r.look("open", content, name)
	if err != nil {
		return nil, err
	}
	return &file{Reader: bytes.NewReader(found.Content), about: about{name, found}}, nil
}

// ReadFile implements fs.ReadFileFS.
func (r *remote) ReadFile(name string) ([]byte, error) {
	found, err := r.look("read", content, name)
	return found.Content, err
}

// ReadLink implements fs.ReadLinkFS.
func (r *remote) ReadLink(name string) (string, error) {
	found, err := r.look("readlink", content, name)
	return string(found.Content), err
}

// ReadDir implements fs.ReadDirFS.
func (r *remote) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := r.look("readdir", entries, name)
	if err != nil {
		return nil, err
	}
	all := make([]fs.DirEntry, len(found.Entries))
	for i, each := range found.Entries {
		all[i] = &listed{remote: r, path: path.Join(name, each.Name), mode: each.Mode}
	}
	return all, nil
}

// Stat implements fs.StatFS. A repository does not follow links.
func (r *remote) Stat(name string) (fs.FileInfo, error) { return r.Lstat(name) }

// Lstat implements fs.ReadLinkFS.
func (r *remote) Lstat(name string) (fs.FileInfo, error) {
	found, err := r.look("lstat", info, name)
	if err != nil {
		return nil, err
	}
	return about{name, found}, nil
}

// about describes a path.
type about struct {
	path string
	answer
}

func (a about) Name() string       { return path.Base(a.path) }
func (a about) Size() int64        { return a.answer.Size }
func (a about) Mode() fs.FileMode  { return a.answer.Mode }
func (a about) ModTime() time.Time { return time.Time{} }
func (a about) IsDir() bool        { return a.answer.Mode.IsDir() }
func (a about) Sys() any           { return nil }

// listed is an entry of a folder.
type listed struct {
	remote *remote
	path   string
	mode   fs.FileMode
}

func (l *listed) Name() string               { return path.Base(l.path) }
func (l *listed) IsDir() bool                { return l.mode.IsDir() }
func (l *listed) Type() fs.FileMode          { return l.mode }
func (l *listed) Info() (fs.FileInfo, error) { return l.remote.Lstat(l.path) }

// file is an open file.
type file struct {
	*bytes.Reader
	about about
}

func (f *file) Stat() (fs.FileInfo, error) { return f.about, nil }
func (f *file) Close() error               { return nil }
