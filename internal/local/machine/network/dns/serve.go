package dns

import (
	"context"
	"encoding/binary"
	"net"
	"time"
)

const (
	// maxQuery is the size, in bytes, of the largest accepted query. A name has at most 255 bytes.
	maxQuery = 4096
	// answerTimeout bounds the answer to a query, and idleTimeout the wait for the next query of a TCP connection (RFC
	// 7766 suggests a few seconds).
	answerTimeout, idleTimeout = 10 * time.Second, 10 * time.Second
)

// ServePackets answers the queries that arrive at conn until conn is closed or ctx ends. It answers at most `parallel`
// queries at once; later queries wait in conn's buffer.
func (s *Server) ServePackets(ctx context.Context, conn net.PacketConn, parallel int) {
	slots := make(chan struct{}, parallel)
	buffer := make([]byte, maxQuery)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		query := append([]byte(nil), buffer[:n]...)
		go func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, answerTimeout)
			defer cancel()
			if answer := s.Answer(ctx, query, true); answer != nil {
				// The client repeats its query if the answer is lost.
				_, _ = conn.WriteTo(answer, from)
			}
		}()
	}
}

// ServeStream answers the queries of one TCP connection, one after the other, and closes it.
func (s *Server) ServeStream(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	buffer := make([]byte, 0xffff)
	for {
		if err := conn.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
			return
		}
		query, err := readMessage(conn, "tcp", buffer)
		if err != nil || len(query) > maxQuery {
			return
		}
		answering, cancel := context.WithTimeout(ctx, answerTimeout)
		answer := s.Answer(answering, query, false)
		cancel()
		if answer == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}
