package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/strata-platform/strata/internal/signing"
)

// Suffixes of the files beside a report: its signature, and the public key that verifies it.
const (
	signatureSuffix = ".sig"
	keySuffix       = ".pub"
)

// reportMode is the mode of a new file: a report says where a platform is open.
const reportMode = 0o600

// largest is the maximum number of bytes of a report that is read.
const largest = 64 << 20

// Write writes the report to a file, and beside it the signature and the public key. cosign and openssl verify the signature.
func (r *Report) Write(file string, key *signing.Key) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	content = append(content, '\n')
	signature, err := key.Sign(content)
	if err != nil {
		return fmt.Errorf("sign the report: %w", err)
	}
	public, err := key.PublicPEM()
	if err != nil {
		return err
	}
	for _, each := range []struct {
		path string
		data []byte
	}{{file, content}, {file + signatureSuffix, append(signature, '\n')}, {file + keySuffix, []byte(public)}} {
		if err := os.WriteFile(each.path, each.data, reportMode); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// Read reads a report. Its signature, which is beside it, must be one of the key; key may be nil, which verifies nothing.
func Read(file string, key *signing.Key) (*Report, error) {
	content, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	signature, err := read(file + signatureSuffix)
	switch {
	case key == nil:
	case err != nil:
		return nil, fmt.Errorf("read the signature of the report: %w", err)
	case !key.Verify(content, bytes.TrimRight(signature, "\n")):
		return nil, fmt.Errorf("read the report: %s is no signature of %s by this platform's key: somebody has changed the report, or another platform has signed it", file+signatureSuffix, file)
	}
	r := &Report{}
	if err := json.Unmarshal(content, r); err != nil || r.Date.IsZero() {
		return nil, fmt.Errorf("read the report: %s is not a report of strata audit", file)
	}
	return r, nil
}

// read reads a file of at most largest bytes.
func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, largest+1))
	if err == nil && len(content) > largest {
		err = fmt.Errorf("%s is larger than %d MiB", path, largest>>20)
	}
	return content, err
}
