package archive

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Lock pins the packages of an image. Its text has a line for each package, so that a difference between two locks is readable.
type Lock struct {
	// Suite and Architecture are Debian's names, such as trixie and amd64.
	Suite, Architecture string
	// Date is the date of the release of the suite.
	Date time.Time
	// Packages are sorted by name.
	Packages []Package
}

// String returns the text of the lock.
func (l Lock) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "suite %s\narchitecture %s\ndate %s\n", l.Suite, l.Architecture, l.Date.UTC().Format(time.RFC3339))
	for _, p := range l.Packages {
		fmt.Fprintf(&text, "package %s %s %d %s %s\n", p.Name, p.Version, p.Size, p.SHA256, p.File)
	}
	return text.String()
}

// ParseLock parses the text of a lock.
func ParseLock(text string) (Lock, error) {
	var l Lock
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		var err error
		switch {
		case len(fields) == 2 && fields[0] == "suite":
			l.Suite = fields[1]
		case len(fields) == 2 && fields[0] == "architecture":
			l.Architecture = fields[1]
		case len(fields) == 2 && fields[0] == "date":
			l.Date, err = time.Parse(time.RFC3339, fields[1])
		case len(fields) == 6 && fields[0] == "package":
			p := Package{Name: fields[1], Version: fields[2], SHA256: fields[4], File: fields[5]}
			if p.Size, err = strconv.ParseInt(fields[3], 10, 64); err == nil {
				err = p.check()
			}
			l.Packages = append(l.Packages, p)
		default:
			err = fmt.Errorf("%q is neither a package nor a setting", strings.TrimSpace(line))
		}
		if err != nil {
			return Lock{}, fmt.Errorf("read the lock of an image: line %d: %w", number, err)
		}
	}
	if l.Suite == "" || l.Architecture == "" || l.Date.IsZero() || len(l.Packages) == 0 {
		return Lock{}, fmt.Errorf("read the lock of an image: it has no suite, architecture, date or packages")
	}
	return l, nil
}

// check validates what names a file, here and on the mirror.
func (p Package) check() error {
	if sum, err := hex.DecodeString(p.SHA256); err != nil || len(sum) != 32 || p.SHA256 != strings.ToLower(p.SHA256) {
		return fmt.Errorf("package %s: %q is no SHA256 sum", p.Name, p.SHA256)
	}
	if p.Size <= 0 || p.Size > largestPackage {
		return fmt.Errorf("package %s: a size of %d bytes is not possible", p.Name, p.Size)
	}
	if strings.Contains(p.File, "..") || !strings.HasPrefix(p.File, "pool/") {
		return fmt.Errorf("package %s: %q is no file of an archive", p.Name, p.File)
	}
	return nil
}
