package dolt

import (
	"fmt"
	"io"
	"net"
)

const (
	// longestPrepared is the maximum length in bytes of a statement that a client prepares. The server itself bounds
	// other statements. It parses prepared statements before Strata could check them, with a stack that grows with
	// their nesting.
	longestPrepared = 2 << 20

	// These constants are from MySQL's protocol ("MySQL Packets", "COM_STMT_PREPARE", "ERR_Packet"). A packet is the
	// payload's length in three bytes, a sequence number, and the payload, which begins with the command. A payload of
	// the full length continues in the next packet.
	headerSize    = 4
	fullLength    = 1<<24 - 1
	comPrepare    = 0x16
	tooLargeCode  = 1153 // ER_NET_PACKET_TOO_LARGE
	tooLargeState = "08S01"
)

// packets reads a client's packets. If a packet prepares too long a statement, packets ends the connection with an
// error of the protocol.
type packets struct {
	net.Conn
	header  []byte // of the next packet, as far as it has arrived
	left    int    // rest of the packet's payload in bytes
	whole   bool   // whether the next packet begins a payload instead of continuing one
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
			// The client sends the whole packet before it reads the answer.
			_, _ = io.CopyN(io.Discard, p.Conn, int64(p.left-min(p.left, n-at)))
			p.answer()
			return 0, io.EOF
		}
	}
	return n, err
}

// begins reports whether the header is complete, with the command if the packet begins a payload.
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

// answer tells the client why the connection ends.
func (p *packets) answer() {
	text := fmt.Sprintf("a prepared statement has more than %d bytes: send it in parts", longestPrepared)
	payload := append([]byte{0xff, tooLargeCode & 0xff, tooLargeCode >> 8, '#'}, tooLargeState+text...)
	_, _ = p.Write(append([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, 1}, payload...)) // The client may be gone.
}

// CloseWrite tells the client that the server sends nothing more.
func (p *packets) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
