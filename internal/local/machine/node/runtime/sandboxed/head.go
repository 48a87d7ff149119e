package sandboxed

import "sync"

// maxHead bounds the output of a probe's command that an event shows.
const maxHead = 10 << 10

// head keeps the beginning of what is written to it, so that a command that prints without end uses no memory.
type head struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.data = append(h.data, p[:min(len(p), maxHead-len(h.data))]...)
	return len(p), nil
}

func (h *head) text() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.data
}
