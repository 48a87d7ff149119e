package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// asks is the HTTP client of another user of the machine, without any credentials.
var asks = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // An attacker does not check certificates.
	DialContext:     dialAsNobody,
}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func addressAttacks() []attack {
	return []attack{
		{"read from the servers of the platform", addresses, byOtherUser, everyPort("GET", "/"), "", nil},
		{"list the teams' artifacts", addresses, byOtherUser, everyPort("GET", "/gitrepository/"), "", nil},
		{"list the artifacts of the other team", addresses, byOtherUser, everyPort("GET", "/gitrepository/team-web/web/"), "", nil},
		{"read metrics", addresses, byOtherUser, everyPort("GET", "/metrics"), "", nil},
		{"read profiles", addresses, byOtherUser, everyPort("GET", "/debug/pprof/"), "", nil},
		{"forge an event", addresses, byOtherUser, everyPort("POST", "/"), "", nil},
		{"forge a push", addresses, byOtherUser, everyPort("POST", "/hook/0000"), "", nil},
		{"reach an address through a proxy", addresses, byOtherUser, everyPort(http.MethodConnect, ""), "", untouched},
		{"read the cluster", addresses, byOtherUser, everyPort("GET", "/api/v1/secrets"), "", nil},
		{"read the state of the other team", addresses, byOtherUser, everyPort("GET", "/storage/v1/b"), "", nil},
		{"read etcd", addresses, byOtherUser, everyPort("GET", "/v2/keys"), "", nil},
		run6("reach a port that a run does not need", "timeout 3 bash -c 'echo > /dev/tcp/127.0.0.1/{BAITPORT}'"),
		run6("reach the machine by another address", "timeout 3 bash -c 'echo > /dev/tcp/'$(hostname -i | cut -d' ' -f1)'/{BAITPORT}'"),
		run6("listen on a port that others can reach", "timeout 3 python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); exit(0)' && timeout 1 bash -c 'echo > /dev/tcp/127.0.0.1/22'"),
	}
}

func run6(name, script string) attack {
	return attack{name: name, class: addresses, as: byRun, do: scripted(script), says: stopped, unharmed: untouched}
}

// public are the responses that a server may give without a login. They reveal only that the server exists.
var public = []string{"ok", "healthz", "version", "404 page not found", "Moved"}

// everyPort sends a request to every port of the platform, without a login, by HTTP and HTTPS. A server may reveal only
// that it exists.
func everyPort(method, path string) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) error {
		ports, err := listening(f)
		if err != nil {
			return err
		}
		for _, address := range ports {
			for _, scheme := range []string{"http", "https"} {
				if err := f.ask(ctx, method, scheme, address, path); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func (f *field) ask(ctx context.Context, method, scheme, address, path string) error {
	request, err := http.NewRequestWithContext(ctx, method, scheme+"://"+address+path, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	if method == http.MethodConnect {
		request.URL.Opaque, request.Host = "127.0.0.1:"+f.bait.port(), "127.0.0.1:"+f.bait.port()
	}
	response, err := asks.Do(request)
	if err != nil {
		return nil //nolint:nilerr // The server speaks another protocol, or requires a client certificate.
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	for _, harmless := range public {
		if method == http.MethodGet && strings.TrimSpace(string(body)) == harmless {
			return nil
		}
	}
	return fmt.Errorf("%s %s has an answer without a login: %s: %.300s", method, (&url.URL{Scheme: scheme, Host: address, Path: path}).String(), response.Status, body)
}

// listening returns the addresses on which processes of the platform listen.
func listening(f *field) ([]string, error) {
	inodes, err := socketsOf(f.platform.Processes())
	if err != nil {
		return nil, err
	}
	var found []string
	for _, s := range listeners() {
		if inodes[s.inode] {
			found = append(found, net.JoinHostPort(s.host, s.port))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("found no address on which the platform listens")
	}
	return found, nil
}
