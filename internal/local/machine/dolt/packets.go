package dolt

import (
	"fmt"
	"io"
	"net"
	"time"
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

// packets is the connection of a client, and counts its packets. When the client prepares a statement that is too long,
// packets ends the connection with an error of the protocol.
type packets struct {
	net.Conn
	header   []byte // of the next packet, as far as it has arrived
	left     int    // rest of the packet's payload in bytes
	whole    bool   // whether the next packet begins a payload instead of continuing one
	number   byte   // of the last packet
	rejected bool   // the packet prepares a statement that is too long
}

// newPackets returns the packets of a client that has sent nothing yet.
func newPackets(client net.Conn) *packets { return &packets{Conn: client, whole: true} }

// Read implements net.Conn.
func (p *packets) Read(buffer []byte) (int, error) {
	if p.rejected {
		return 0, p.reject()
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
		if p.rejected {
			p.left -= min(p.left, n-at)
			// The server gets the packets before this one.
			if before := at - headerSize - 1; before > 0 {
				return before, nil
			}
			return 0, p.reject()
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
	p.left, p.number = length-(len(p.header)-headerSize), p.header[3]
	p.rejected = p.whole && length > longestPrepared && p.header[headerSize] == comPrepare
	p.whole = length < fullLength
	p.header = p.header[:0]
	return true
}

// drainTimeout is how long a client may take to send the rest of a rejected packet.
const drainTimeout = 30 * time.Second

// reject tells the client why the connection ends. The client sends the whole packet before it reads the answer.
func (p *packets) reject() error {
	_ = p.SetReadDeadline(time.Now().Add(drainTimeout)) // A closed connection has ended already.
	if p.drain() != nil {
		return io.EOF // The client is gone.
	}
	text := fmt.Sprintf("a prepared statement has more than %d bytes: send it in parts", longestPrepared)
	payload := append([]byte{0xff, tooLargeCode & 0xff, tooLargeCode >> 8, '#'}, tooLargeState+text...)
	_, _ = p.Write(append([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, p.number + 1}, payload...))
	return io.EOF
}

// drain reads the rest of a payload, including the packets that continue it.
func (p *packets) drain() error {
	for {
		if _, err := io.CopyN(io.Discard, p.Conn, int64(p.left)); err != nil || p.whole {
			return err
		}
		var header [headerSize]byte
		if _, err := io.ReadFull(p.Conn, header[:]); err != nil {
			return err
		}
		p.header = header[:]
		p.begins()
	}
}

// CloseWrite ends the connection from the server to the client.
func (p *packets) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
