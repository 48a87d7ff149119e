package dolt

import (
	"fmt"
	"io"
	"net"
)

const (
	// longestPrepared is how many bytes a statement may have that a client prepares. The server bounds the others itself, but
	// parses these before any code of ours sees them, with a stack that grows with their nesting.
	longestPrepared = 2 << 20

	// The protocol of MySQL ("MySQL Packets", "COM_STMT_PREPARE", "ERR_Packet"): a packet is its length in three bytes, a
	// number, and the payload, which begins with the command. One of the full length goes on in the next.
	headerSize    = 4
	fullLength    = 1<<24 - 1
	comPrepare    = 0x16
	tooLargeCode  = 1153 // ER_NET_PACKET_TOO_LARGE
	tooLargeState = "08S01"
)

// packets reads the packets of a client and ends with one that prepares a statement which is too long. The client gets an
// error of the protocol.
type packets struct {
	net.Conn
	header  []byte // of the packet that begins
	left    int    // of the packet's payload
	whole   bool   // whether the next packet begins a payload, and does not go on with one
	refused bool
}

func newPackets(client net.Conn) *packets { return &packets{Conn: client, whole: true} }

// Read implements net.Conn.
func (p *packets) Read(buffer []byte) (int, error) {
	if p.refused {
		return 0, io.EOF
	}
	n, err := p.Conn.Read(buffer)
	for at := 0; at < n; {
		if p.left > 0 {
			skipped := min(p.left, n-at)
			p.left -= skipped
			at += skipped
			continue
		}
		p.header = append(p.header, buffer[at])
		at++
		if !p.begins() {
			continue
		}
		if p.refused {
			// The client sends all before it reads the answer.
			_, _ = io.CopyN(io.Discard, p.Conn, int64(p.left-min(p.left, n-at)))
			p.answer()
			return 0, io.EOF
		}
	}
	return n, err
}

// begins tells whether the header, with the command where there is one, is complete.
func (p *packets) begins() bool {
	if len(p.header) < headerSize {
		return false
	}
	length := int(p.header[0]) | int(p.header[1])<<8 | int(p.header[2])<<16
	if p.whole && length > 0 && len(p.header) == headerSize {
		return false
	}
	p.left = length - (len(p.header) - headerSize)
	p.refused = p.whole && length > longestPrepared && p.header[headerSize] == comPrepare
	p.whole = length < fullLength
	p.header = p.header[:0]
	return true
}

// answer tells the client why its connection ends.
func (p *packets) answer() {
	text := fmt.Sprintf("a prepared statement has more than %d bytes: send it in parts", longestPrepared)
	payload := append([]byte{0xff, tooLargeCode & 0xff, tooLargeCode >> 8, '#'}, tooLargeState+text...)
	_, _ = p.Write(append([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, 1}, payload...)) // It may be gone.
}

// CloseWrite tells the client that nothing more comes.
func (p *packets) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
