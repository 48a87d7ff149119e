// Package dns answers the DNS queries of pods: names of the cluster from its objects, other names from the host's
// resolvers.
package dns

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// ttl of records, in seconds, including missing ones. It is CoreDNS's default: a client that caches sees changes of a
	// Service within this time.
	ttl = 5
	// smallest is the size, in bytes, of the UDP answers that every client accepts (RFC 1035), and largest the limit for
	// clients that announce more. It is the length of UDP datagrams that all networks carry in one packet (DNS flag day 2020).
	smallest, largest = 512, 1232
	// maxAliases bounds a chain of ExternalName Services.
	maxAliases = 8
)

// Server answers queries. Its fields do not change while it serves.
type Server struct {
	// Zone returns the current zone.
	Zone func() *Zone
	// Names maps names outside the zone, in lower case with a dot at the end, to the addresses that the server answers with.
	Names map[string]netip.Addr
	// Upstream resolves other names outside the zone. Nil means that they do not exist.
	Upstream Upstream
	// Allowed returns an error for the IPv4 addresses of outside names that pods may not reach. The server removes such
	// addresses from answers, so that a name of an attacker never resolves to an address of the host.
	Allowed func(netip.Addr) error
}

// Answer returns the answer to a query, or nil if the query is no DNS query. An answer over UDP that exceeds the client's
// limit is truncated, and the client repeats the query over TCP.
func (s *Server) Answer(ctx context.Context, query []byte, udp bool) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil || h.Response {
		return nil
	}
	reply := &dnsmessage.Message{Header: dnsmessage.Header{ID: h.ID, Response: true, OpCode: h.OpCode,
		RecursionDesired: h.RecursionDesired, RecursionAvailable: true}}
	questions, err := p.AllQuestions()
	limit := 0
	switch {
	case err != nil || len(questions) != 1:
		reply.RCode = dnsmessage.RCodeFormatError
	case h.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	default:
		reply.Questions = questions
		limit = s.options(&p, reply)
		s.resolve(ctx, questions[0], reply)
	}
	if !udp {
		limit = 0xffff
	}
	return pack(reply, max(limit, smallest))
}

// options reads the client's limit from its OPT record (RFC 6891), and adds an OPT record to the reply.
func (s *Server) options(p *dnsmessage.Parser, reply *dnsmessage.Message) int {
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return 0
	}
	for {
		h, err := p.AdditionalHeader()
		if err != nil {
			return 0
		}
		if h.Type == dnsmessage.TypeOPT {
			var own dnsmessage.ResourceHeader
			if err := own.SetEDNS0(largest, dnsmessage.RCodeSuccess, false); err == nil {
				reply.Additionals = append(reply.Additionals, dnsmessage.Resource{Header: own, Body: &dnsmessage.OPTResource{}})
			}
			return min(int(h.Class), largest)
		}
		if p.SkipAdditional() != nil {
			return 0
		}
	}
}

// pack encodes a message, without its records if they exceed the limit in bytes.
func pack(m *dnsmessage.Message, limit int) []byte {
	packed, err := m.Pack()
	if err == nil && len(packed) <= limit {
		return packed
	}
	m.Truncated = err == nil
	if err != nil {
		m.RCode = dnsmessage.RCodeServerFailure
	}
	m.Answers, m.Authorities = nil, nil
	packed, err = m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// resolve adds the answers to a question, and follows the aliases of the zone.
func (s *Server) resolve(ctx context.Context, q dnsmessage.Question, reply *dnsmessage.Message) {
	zone := s.Zone()
	for range maxAliases {
		name := strings.ToLower(q.Name.String())
		found, own := zone.lookup(name)
		if address, ok := s.Names[name]; ok && !own {
			reply.Answers = append(reply.Answers, (&records{addresses: []netip.Addr{address}}).answers(q)...)
			return
		}
		if !own {
			s.forward(ctx, q, reply)
			return
		}
		reply.Authoritative = true
		if found == nil {
			reply.RCode = dnsmessage.RCodeNameError
			reply.Authorities = append(reply.Authorities, zone.authority())
			return
		}
		if found.alias == "" || q.Type == dnsmessage.TypeCNAME {
			if answers := found.answers(q); answers != nil {
				reply.Answers = append(reply.Answers, answers...)
				s.targets(zone, q, found, reply)
			} else {
				reply.Authorities = append(reply.Authorities, zone.authority())
			}
			return
		}
		reply.Answers = append(reply.Answers, found.answers(dnsmessage.Question{Name: q.Name, Type: dnsmessage.TypeCNAME})...)
		target, err := dnsmessage.NewName(found.alias)
		if err != nil {
			break
		}
		q.Name = target
	}
	reply.RCode = dnsmessage.RCodeServerFailure
}

// targets adds the addresses of the targets of SRV records.
func (s *Server) targets(zone *Zone, q dnsmessage.Question, found *records, reply *dnsmessage.Message) {
	if q.Type != dnsmessage.TypeSRV {
		return
	}
	for _, srv := range found.services {
		if target, _ := zone.lookup(srv.Target.String()); target != nil {
			reply.Additionals = append(reply.Additionals, target.answers(dnsmessage.Question{Name: srv.Target, Type: dnsmessage.TypeA})...)
		}
	}
}

// answers returns the records that answer a question.
func (r *records) answers(q dnsmessage.Question) []dnsmessage.Resource {
	var bodies []dnsmessage.ResourceBody
	all := q.Type == dnsmessage.TypeALL
	if q.Type == dnsmessage.TypeA || all {
		for _, a := range r.addresses {
			if a.Is4() {
				bodies = append(bodies, &dnsmessage.AResource{A: a.As4()})
			}
		}
	}
	if q.Type == dnsmessage.TypeSRV || all {
		for _, srv := range r.services {
			bodies = append(bodies, &srv)
		}
	}
	if q.Type == dnsmessage.TypePTR || all {
		for _, p := range r.pointers {
			if name, err := dnsmessage.NewName(p); err == nil {
				bodies = append(bodies, &dnsmessage.PTRResource{PTR: name})
			}
		}
	}
	if (q.Type == dnsmessage.TypeTXT || all) && r.text != "" {
		bodies = append(bodies, &dnsmessage.TXTResource{TXT: []string{r.text}})
	}
	if (q.Type == dnsmessage.TypeCNAME || all) && r.alias != "" {
		if name, err := dnsmessage.NewName(r.alias); err == nil {
			bodies = append(bodies, &dnsmessage.CNAMEResource{CNAME: name})
		}
	}
	var answers []dnsmessage.Resource
	for _, body := range bodies {
		answers = append(answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: ttl}, Body: body})
	}
	return answers
}

// authority returns the SOA record, which tells clients how long to remember that a record is missing (RFC 2308).
func (z *Zone) authority() dnsmessage.Resource {
	name, err := dnsmessage.NewName(z.domain[1:])
	server, err2 := dnsmessage.NewName("ns.dns" + z.domain)
	mailbox, err3 := dnsmessage.NewName("hostmaster" + z.domain)
	if errors.Join(err, err2, err3) != nil {
		name, server, mailbox = dnsmessage.MustNewName("."), dnsmessage.MustNewName("."), dnsmessage.MustNewName(".")
	}
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: ttl},
		Body: &dnsmessage.SOAResource{NS: server, MBox: mailbox, Serial: 1, Refresh: 7200, Retry: 1800, Expire: 86400, MinTTL: ttl}}
}
