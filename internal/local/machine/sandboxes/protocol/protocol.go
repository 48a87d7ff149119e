// Package protocol carries messages and file descriptors between Strata and the process that runs the sandboxes.
package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// MaxMessage is the maximum size of a message in bytes, and MaxFiles the maximum number of its files.
const (
	MaxMessage = 4 << 20
	MaxFiles   = 4
)

// Message is a request, or the response with the same ID.
type Message struct {
	// ID is chosen by the sender of the request.
	ID uint64 `json:"id"`

	// Method names the request. It is empty in a response.
	Method Method `json:"method,omitempty"`

	// Error is the failure of a request. Nil means success.
	Error *Failure `json:"error,omitempty"`

	// Body is the request or the result that belongs to the method.
	Body json.RawMessage `json:"body,omitempty"`
}

// Failure is the error in a response.
type Failure struct {
	// Text is one line.
	Text string `json:"text"`

	// Gone says that the pod, the container or the process does not exist any more.
	Gone bool `json:"gone,omitempty"`

	// Unsupported says that the system does not permit what every sandbox needs.
	Unsupported bool `json:"unsupported,omitempty"`
}

// Error returns the text.
func (f *Failure) Error() string { return f.Text }

// ErrGone means that a pod, a container or a process has ended or was removed.
var ErrGone = errors.New("it has ended or was removed")

// Is makes errors.Is recognise [ErrGone].
func (f *Failure) Is(target error) bool { return f.Gone && target == ErrGone }

// Conn is one end of the connection. Several goroutines may send; one receives.
type Conn struct {
	socket *net.UnixConn
	send   sync.Mutex
}

// NewConn takes over a Unix stream socket.
func NewConn(file *os.File) (*Conn, error) {
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("take over the socket: %w", err)
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("take over the socket: it is not a Unix socket")
	}
	return &Conn{socket: socket}, nil
}

// Close closes the connection. The other end receives io.EOF.
func (c *Conn) Close() error { return c.socket.Close() }

// Send sends a message and copies of the files. The caller keeps its files.
func (c *Conn) Send(m Message, files ...*os.File) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	if len(body) > MaxMessage || len(files) > MaxFiles {
		return fmt.Errorf("a message of %d bytes and %d files is too large: the limits are %d and %d", len(body), len(files), MaxMessage, MaxFiles)
	}
	data := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	data = append(data, body...)
	c.send.Lock()
	defer c.send.Unlock()
	n, err := c.first(data, files)
	if err != nil {
		return err
	}
	_, err = c.socket.Write(data[n:])
	return err
}

// Receive waits for the next message. The caller closes the files. Receive returns io.EOF when the other end has closed the
// connection.
func (c *Conn) Receive() (Message, []*os.File, error) {
	header := make([]byte, 4)
	n, files, err := c.header(header)
	if err == nil && n < len(header) {
		_, err = io.ReadFull(c.socket, header[n:])
	}
	var m Message
	if err == nil {
		err = c.body(binary.BigEndian.Uint32(header), &m)
	}
	if err != nil {
		CloseAll(files)
		return Message{}, nil, err
	}
	return m, files, nil
}

func (c *Conn) body(size uint32, m *Message) error {
	if size > MaxMessage {
		return fmt.Errorf("receive a message of %d bytes: the limit is %d", size, MaxMessage)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.socket, body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, m); err != nil {
		return fmt.Errorf("decode a message: %w", err)
	}
	return nil
}

// header reads the first bytes of a message, which carry its files.
func (c *Conn) header(into []byte) (int, []*os.File, error) {
	oob := make([]byte, syscall.CmsgSpace(4*MaxFiles))
	n, oobn, flags, _, err := c.socket.ReadMsgUnix(into, oob)
	if err != nil {
		return 0, nil, err
	}
	if n == 0 {
		return 0, nil, io.EOF
	}
	files, err := parseRights(oob[:oobn])
	if err == nil && flags&syscall.MSG_CTRUNC != 0 {
		err = fmt.Errorf("receive a message: it has more than %d files", MaxFiles)
	}
	return n, files, err
}

// first sends the first bytes together with the files, and returns the number of bytes.
func (c *Conn) first(data []byte, files []*os.File) (int, error) {
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, file := range files {
			fds[i] = int(file.Fd())
		}
		oob = syscall.UnixRights(fds...)
	}
	n, _, err := c.socket.WriteMsgUnix(data, oob, nil)
	runtime.KeepAlive(files) // The descriptors stay open until the kernel has copied them.
	return n, err
}

func parseRights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("receive descriptors: %w", err)
	}
	var files []*os.File
	for _, message := range messages {
		fds, err := syscall.ParseUnixRights(&message)
		if err != nil {
			continue // It carries something else than descriptors.
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// CloseAll closes files. A nil file is skipped.
func CloseAll(files []*os.File) {
	for _, file := range files {
		if file != nil {
			file.Close()
		}
	}
}
