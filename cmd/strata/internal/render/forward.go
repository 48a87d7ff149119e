package render

import (
	"context"
	"fmt"
	"io"

	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/internal/terminal"
)

// PortForwardHelp is the help of strata port-forward.
const PortForwardHelp = `Print an address of this machine that leads to a team's Service or pod, until interrupted. The command

  1. looks for the Service in the teams' namespaces, and then for a pod of the name; svc/NAME and pod/NAME give the kind
  2. listens on the local port LOCAL, or on a free one
  3. connects each client with a ready pod behind the Service, through the Kubernetes API

PORT is a number or a name; without it, the port http or the first one is used. -o json prints {"url", "kind", "namespace",
"name", "port", "portName"} first, and omits portName if the port has no name.`

// OpenHelp is the help of strata open.
const OpenHelp = `Print the address of the team's Service NAME, and open it with $BROWSER or the browser of the desktop. Without a browser, the
command only prints the address. On the target local, a Service with the annotation strata.dev/page: PORT has an address of
its own. For any other Service the command connects a port of this machine with it until interrupted, as strata port-forward
does. -o json prints the same fields as strata port-forward.`

// Forward prints the address that leads to a Service or a pod until the command ends.
func Forward(w io.Writer, r forward.Result, asJSON bool) error {
	if asJSON {
		return JSON(w, r)
	}
	_, err := fmt.Fprintf(w, "%s leads to %s, until you press Ctrl-C\n", r.URL, r.Target)
	return err
}

// Page prints the address of a Service.
func Page(w io.Writer, r forward.Result, asJSON bool) error {
	if asJSON {
		return JSON(w, r)
	}
	_, err := fmt.Fprintf(w, "%s leads to %s\n", r.URL, r.Target)
	return err
}

// Open calls open with an address, and prints its error: a person can open the printed address.
func Open(w io.Writer, url string, open func(url string) error) {
	if err := open(url); err != nil {
		note(w, err)
	}
}

func note(w io.Writer, err error) { fmt.Fprintln(w, terminal.Line(err.Error(), longestLine)) }

// Serve serves a forward until ctx is done, after it has called open, unless that is nil, with the address. It prints the
// problems of single connections. failed is the error of printing the address: without the address, the forward is closed.
func Serve(ctx context.Context, w io.Writer, f *forward.Forward, open func(url string) error, failed error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if failed != nil {
		cancel()
	} else if open != nil {
		Open(w, f.Page().URL, open)
	}
	f.Serve(ctx, func(err error) { note(w, err) })
	return failed
}
