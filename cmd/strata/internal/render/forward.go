package render

import (
	"context"
	"errors"
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
const OpenHelp = `Connect a port of this machine with the team's Service NAME, as strata port-forward does, print the address, and open it
with $BROWSER or the browser of the desktop. Without a browser, the command only prints the address. -o json prints the
same fields as strata port-forward.`

// Forward prints the address that leads to a Service or a pod.
func Forward(w io.Writer, r forward.Result) error {
	_, err := fmt.Fprintf(w, "%s leads to %s, until you press Ctrl-C\n", r.URL, r.Target)
	return err
}

// Serve serves a forward until ctx is done, after it has called open, unless that is nil, with the address. It prints the
// problems of single connections. failed is the error of printing the address: without the address, the forward is closed.
func Serve(ctx context.Context, w io.Writer, f *forward.Forward, open func(url string) error, failed error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	note := func(err error) { fmt.Fprintln(w, terminal.Line(err.Error(), longestLine)) }
	if failed != nil {
		cancel()
	} else if open != nil {
		if err := open(f.Result().URL); err != nil {
			note(err)
		}
	}
	return errors.Join(failed, f.Serve(ctx, note))
}
