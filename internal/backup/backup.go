// Package backup writes and reads backups: encrypted archives that begin with a manifest of their members.
//
// A backup is a tar archive, compressed with gzip and encrypted with age. Its first entry is the manifest. A reader refuses
// everything that the manifest does not announce, so the content of an archive never decides where it is written or how much.
package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/semver"
)

// Format is the version of the format that this package writes, and the newest one that it reads.
const Format = 1

// Bounds of a backup. A reader needs memory for the manifest, and disk space for the members.
const (
	// MaxTotal bounds the size of all members together, in bytes.
	MaxTotal = 4 << 30
	// MaxMembers bounds their number.
	MaxMembers  = 50_000
	maxManifest = 16 << 20
	maxPath     = 1024
)

// manifestName is the name of the archive's first entry.
const manifestName = "manifest.json"

// Manifest describes a backup.
type Manifest struct {
	// Format is the version of the format. Strata is the version of the program that wrote the backup.
	Format int    `json:"format"`
	Strata string `json:"strata"`
	// Created is the time of the backup.
	Created time.Time `json:"created"`
	// Target is the target of the platform, and Environment its environment.
	Target      string `json:"target"`
	Environment string `json:"environment"`
	// Home is the folder of the platform.
	Home string `json:"home"`
	// Cloud identifies the emulated Google Cloud that the states describe.
	Cloud string `json:"cloud"`
	// Members are the files, in the order of the archive.
	Members []Member `json:"members"`
}

// Member is a file in a backup.
type Member struct {
	// Path is the slash-separated path of the file below the folder that is restored.
	Path string `json:"path"`
	// Size is in bytes, and SHA256 the checksum in hexadecimal.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Total returns the size of all members, in bytes.
func (m Manifest) Total() int64 {
	var total int64
	for _, member := range m.Members {
		total += member.Size
	}
	return total
}

// decode decodes a manifest for a strata of a version. It decodes the versions first, because a newer format may have other
// fields.
func decode(raw []byte, version string) (Manifest, error) {
	var first struct {
		Format int    `json:"format"`
		Strata string `json:"strata"`
	}
	if err := json.Unmarshal(raw, &first); err != nil || first.Format < 1 {
		return Manifest{}, errors.New("it has no manifest of a backup")
	}
	if first.Format > Format || semver.Compare(first.Strata, version) > 0 {
		return Manifest{}, fmt.Errorf("strata %s has written it (format %d), and this strata %s reads format %d of versions up to its own: use strata %[1]s or newer",
			printable(first.Strata), first.Format, version, Format)
	}
	var manifest Manifest
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&manifest); err != nil {
		return Manifest{}, fmt.Errorf("its manifest is damaged: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Manifest{}, errors.New("its manifest is damaged: text follows its end")
	}
	return manifest, manifest.check()
}

// check returns an error unless every member may be written below a folder, and all together are within the bounds.
func (m Manifest) check() error {
	if len(m.Members) > MaxMembers {
		return fmt.Errorf("it has %d members, and the limit is %d", len(m.Members), MaxMembers)
	}
	seen := make(map[string]bool, len(m.Members))
	var total int64
	for _, member := range m.Members {
		if err := CheckPath(member.Path); err != nil {
			return err
		}
		// A folder and a file cannot have the same path.
		for at := member.Path; at != ""; {
			if seen[at] {
				return fmt.Errorf("the member %s lies at or below another member", printable(member.Path))
			}
			at = at[:max(0, strings.LastIndexByte(at, '/'))]
		}
		seen[member.Path] = true
		if member.Size < 0 || member.Size > MaxTotal {
			return fmt.Errorf("the member %s has %d bytes, and the limit is %d", printable(member.Path), member.Size, int64(MaxTotal))
		}
		if total += member.Size; total > MaxTotal {
			return fmt.Errorf("its members have more than %d bytes", int64(MaxTotal))
		}
	}
	return nil
}

// CheckPath returns an error unless a member may have a path: that of a file below a folder, in the only form that it can have.
func CheckPath(name string) error {
	bad := len(name) > maxPath || name == manifestName || !utf8.ValidString(name) || strings.ContainsRune(name, '\\') ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	for segment := range strings.SplitSeq(name, "/") {
		bad = bad || segment == "" || segment == "." || segment == ".." || len(segment) > 255
	}
	if bad {
		return fmt.Errorf("the member %s has a path that no backup has", printable(name))
	}
	return nil
}

// printable returns a text of an unknown author for a message.
func printable(text string) string {
	if len(text) > 100 {
		text = text[:100] + "..."
	}
	return fmt.Sprintf("%q", text)
}
