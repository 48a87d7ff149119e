package query

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/strata-platform/strata/internal/ledger"
)

// longestLine bounds a line of the audit log, in bytes.
const longestLine = 1 << 20

// CheckAuditLog compares the files of Google Cloud's audit log, the oldest first, with the calls of the book: a file must contain the line
// of each call that is as recent as its first line. It returns the first bad line of each file, and the first missing one.
func (b *Book) CheckAuditLog(paths ...string) ([]ledger.Problem, error) {
	digests := map[string]string{}
	for _, c := range b.Calls {
		digests[c.InsertID] = c.Digest
	}
	var problems []ledger.Problem
	var began time.Time
	seen := map[string]bool{}
	for _, path := range paths {
		number, bad := 0, false
		err := eachLine(path, func(raw []byte) {
			number++
			var entry struct {
				InsertID  string    `json:"insertId"`
				Timestamp time.Time `json:"timestamp"`
			}
			err := json.Unmarshal(raw, &entry)
			if began.IsZero() {
				began = entry.Timestamp
			}
			want, recorded := digests[entry.InsertID]
			sum := sha256.Sum256(raw)
			if seen[entry.InsertID] = true; !bad && (err != nil || recorded && want != hex.EncodeToString(sum[:])) {
				bad = true
				problems = append(problems, ledger.Problem{File: path, Line: number, Message: fmt.Sprintf("line %d is not the call that the ledger recorded: somebody has changed it", number)})
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
	}
	for _, c := range b.Calls {
		// Calls of the same moment may stand in the file that was removed.
		if !seen[c.InsertID] && !began.IsZero() && c.Time.After(began.Add(tolerance)) {
			problems = append(problems, ledger.Problem{
				Chain: c.Chain, Seq: c.Seq, Message: fmt.Sprintf("the audit log does not contain this call, %s of %s: somebody has removed it", c.Method, c.Time.Format(time.RFC3339)),
			})
			break
		}
	}
	return problems, nil
}

// eachLine calls see with each line of a file. A line that is too long is cut, and so no entry.
func eachLine(path string, see func(raw []byte)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			see(lines.Bytes())
		}
	}
	return lines.Err()
}
