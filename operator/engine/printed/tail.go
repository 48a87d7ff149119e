package printed

// tailSize is how much of the end of the output a [Tail] keeps, in bytes.
const tailSize = 16 << 10

// Tail is a writer that keeps the last 16 KiB written to it.
type Tail struct {
	// Limit is a number of bytes. Tail calls Over once, when more than Limit bytes have been written.
	Limit int64
	Over  func()

	data  []byte
	total int64
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	before := t.total
	if t.total += int64(len(p)); before <= t.Limit && t.total > t.Limit {
		t.Over()
	}
	t.data = append(t.data, p...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// String returns the end of the output.
func (t *Tail) String() string { return string(t.data) }
