package dns

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Upstream sends a query to a resolver and returns the resolver's answer. The ID of the answer is that of the query.
type Upstream func(ctx context.Context, query []byte) ([]byte, error)

// attempt bounds the wait for one answer of one resolver. Two resolvers have time to answer within the five seconds
// after which a client repeats its query (resolv.conf(5), timeout).
const attempt = 2 * time.Second

// Host returns an Upstream that asks the resolvers in a file such as /etc/resolv.conf. It reads the file for each query,
// because a laptop changes its network while the platform runs.
func Host(file string) Upstream {
	return func(ctx context.Context, query []byte) ([]byte, error) {
		servers, err := nameservers(file)
		if err != nil {
			return nil, err
		}
		return Servers(servers...)(ctx, query)
	}
}

// nameservers returns the resolvers in a file in the format of resolv.conf(5). It ignores other lines, and addresses that it
// cannot parse.
func nameservers(file string) ([]netip.AddrPort, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("find the host's resolvers: %w", err)
	}
	defer f.Close()
	var servers []netip.AddrPort
	// The file is the host's own. The limit protects against a mistake.
	lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(words[1]); err == nil {
			servers = append(servers, netip.AddrPortFrom(a, 53))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("find the host's resolvers: %s has no line `nameserver ADDRESS`", file)
	}
	return servers, lines.Err()
}

// Servers returns an Upstream that asks resolvers one after the other, until one answers.
func Servers(servers ...netip.AddrPort) Upstream {
	return func(ctx context.Context, query []byte) ([]byte, error) {
		var errs []error
		for _, server := range servers {
			answer, err := exchange(ctx, "udp", server, query)
			if err == nil && isTruncated(answer) {
				answer, err = exchange(ctx, "tcp", server, query)
			}
			if err == nil {
				return answer, nil
			}
			errs = append(errs, err)
		}
		return nil, fmt.Errorf("resolve a name outside the cluster: %w", errors.Join(errs...))
	}
}

// exchange sends a query with an ID of its own, so that a pod that picks the ID cannot forge the answer.
func exchange(ctx context.Context, network string, server netip.AddrPort, query []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, server.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	id := uint16(rand.Uint32())
	own := append([]byte(nil), query...)
	binary.BigEndian.PutUint16(own, id)
	if network == "tcp" {
		own = append(binary.BigEndian.AppendUint16(nil, uint16(len(own))), own...)
	}
	if _, err := conn.Write(own); err != nil {
		return nil, err
	}
	buffer := make([]byte, 0xffff)
	for {
		answer, err := readMessage(conn, network, buffer)
		if err != nil {
			return nil, fmt.Errorf("resolver %s: %w", server, err)
		}
		if matches(answer, id, query) {
			binary.BigEndian.PutUint16(answer, binary.BigEndian.Uint16(query))
			return answer, nil
		}
		if network == "tcp" {
			return nil, fmt.Errorf("resolver %s answers another question", server)
		}
	}
}

// readMessage reads one message: a datagram, or a message with its length before it (RFC 1035, section 4.2.2).
func readMessage(conn io.Reader, network string, buffer []byte) ([]byte, error) {
	if network == "udp" {
		n, err := conn.Read(buffer)
		return buffer[:n], err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	message := buffer[:binary.BigEndian.Uint16(length[:])]
	_, err := io.ReadFull(conn, message)
	return message, err
}

// matches reports whether a message answers the question of a query.
func matches(answer []byte, id uint16, query []byte) bool {
	var a, q dnsmessage.Parser
	h, err := a.Start(answer)
	if err != nil || !h.Response || h.ID != id {
		return false
	}
	if _, err := q.Start(query); err != nil {
		return false
	}
	got, err := a.Question()
	want, err2 := q.Question()
	return err == nil && err2 == nil && got.Type == want.Type && strings.EqualFold(got.Name.String(), want.Name.String())
}

func isTruncated(message []byte) bool {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	return err == nil && h.Truncated
}

// forward adds the answer of the upstream resolver, without the addresses that pods may not reach. Pods have no IPv6
// addresses, so the server removes AAAA records, and HTTPS and SVCB records, which contain addresses as hints.
func (s *Server) forward(ctx context.Context, q dnsmessage.Question, reply *dnsmessage.Message) {
	reply.Authoritative = false
	if s.Upstream == nil {
		reply.RCode = dnsmessage.RCodeNameError
		return
	}
	const svcb, https = dnsmessage.Type(64), dnsmessage.Type(65)
	if q.Type == dnsmessage.TypeAAAA || q.Type == svcb || q.Type == https {
		return
	}
	query := dnsmessage.Message{Header: dnsmessage.Header{RecursionDesired: true}, Questions: []dnsmessage.Question{q}}
	packed, err := query.Pack()
	if err != nil {
		reply.RCode = dnsmessage.RCodeFormatError
		return
	}
	var answer dnsmessage.Message
	raw, err := s.Upstream(ctx, packed)
	if err == nil {
		err = answer.Unpack(raw)
	}
	if err != nil {
		reply.RCode = dnsmessage.RCodeServerFailure
		return
	}
	reply.RCode = answer.RCode
	for _, r := range answer.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			if s.Allowed != nil && s.Allowed(netip.AddrFrom4(body.A)) != nil {
				continue
			}
		case *dnsmessage.AAAAResource, *dnsmessage.OPTResource:
			continue
		case *dnsmessage.UnknownResource:
			if r.Header.Type == svcb || r.Header.Type == https {
				continue
			}
		}
		reply.Answers = append(reply.Answers, r)
	}
	for _, r := range answer.Authorities {
		if _, ok := r.Body.(*dnsmessage.SOAResource); ok {
			reply.Authorities = append(reply.Authorities, r)
		}
	}
}
