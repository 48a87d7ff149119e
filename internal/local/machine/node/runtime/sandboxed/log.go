package sandboxed

import (
	"io"
	"os"
	"sync"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// containerLog writes the output of a container to its log.
type containerLog struct {
	stdout, stderr *os.File
	copied         sync.WaitGroup
}

// openLog opens the log at a path. Standard output and standard error share one stream, so that their lines keep their
// order.
func openLog(path string) (*containerLog, error) {
	writer, err := logfile.Open(path, true)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		writer.Close()
		return nil, err
	}
	l := &containerLog{stdout: write, stderr: write}
	l.copied.Go(func() {
		writer.Copy(io.Reader(read))
		read.Close()
		writer.Close()
	})
	return l, nil
}

// Close ends the log after the last line.
func (l *containerLog) Close() {
	l.stdout.Close()
	l.copied.Wait()
}
