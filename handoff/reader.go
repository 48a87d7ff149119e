package handoff

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
)

// reader reads the fields of a context and collects their problems.
type reader struct {
	layer, stack string
	// output returns an output of the stack, nil if there is none, and whether the output is a secret.
	output   func(name string) (value any, secret bool, err error)
	problems []string
}

// wrap names the context, and the command that writes it again.
func (r *reader) wrap(err error) error {
	return fmt.Errorf("read the context of layer %s from stack %s: %w: run `strata layer up %s`, on Google Cloud with --target gke", r.layer, r.stack, err, r.layer)
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.wrap(fmt.Errorf("%s", strings.Join(r.problems, ", ")))
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// checkVersion returns an error unless the output OutputVersion is want. An older context has other fields, so the reader would
// otherwise report each missing field, and not the reason.
func (r *reader) checkVersion(value any, want int) error {
	got, isNumber := value.(float64)
	if asInt, isInt := value.(int); isInt {
		got, isNumber = float64(asInt), true
	}
	switch {
	case value == nil:
		return r.wrap(fmt.Errorf("%s is missing", OutputVersion))
	case !isNumber:
		return r.wrap(fmt.Errorf("%s is not a number", OutputVersion))
	case got != math.Trunc(got):
		return r.wrap(fmt.Errorf("%s is not a whole number", OutputVersion))
	case int(got) < want:
		return r.wrap(fmt.Errorf("%s is %d, too old for this version of strata, which reads %d", OutputVersion, int(got), want))
	case int(got) > want:
		// Without the advice of wrap: an up by this older strata would write the older context again.
		return fmt.Errorf("read the context of layer %s from stack %s: %s is %d, too new for this version of strata, which reads %d; update strata",
			r.layer, r.stack, OutputVersion, int(got), want)
	}
	return nil
}

func (r *reader) text(name string) string {
	value, _, err := r.output(name)
	if err != nil {
		r.problem("%s cannot be read: %v", name, err)
		return ""
	}
	return r.asText(name, value)
}

// optional returns the text of an output, or "" if the stack has no such output.
func (r *reader) optional(name string) string {
	if value, _, err := r.output(name); err == nil && value == nil {
		return ""
	}
	return r.text(name)
}

// addresses returns the addresses of an output, or nil if the stack has no such output. Layer 2 opens the network to them, so the
// list must not contain the node itself or the metadata server.
func (r *reader) addresses(name string) []netip.Addr {
	value, _, err := r.output(name)
	list, isList := value.([]any)
	switch {
	case err != nil:
		r.problem("%s cannot be read: %v", name, err)
	case value != nil && !isList:
		r.problem("%s is not a list", name)
	}
	var all []netip.Addr
	for i, each := range list {
		text, _ := each.(string)
		address, err := netip.ParseAddr(text)
		address = address.Unmap()
		if err != nil || address.Zone() != "" || !address.IsGlobalUnicast() {
			r.problem("%s[%d] is not the IP address of a control plane", name, i)
			continue
		}
		all = append(all, address)
	}
	return all
}

func (r *reader) secret(name string) Secret {
	value, isSecret, err := r.output(name)
	switch {
	case err != nil:
		r.problem("%s cannot be read: %v", name, err)
		return ""
	case value != nil && !isSecret:
		r.problem("%s is in plain text, but must be a secret", name)
		return ""
	}
	return Secret(r.asText(name, value))
}

// asText returns the value as a string. Its problems never quote the value, which may be a secret in the wrong place.
func (r *reader) asText(name string, value any) string {
	text, isText := value.(string)
	switch {
	case value == nil:
		r.problem("%s is missing", name)
	case !isText:
		r.problem("%s is not a string", name)
	case text == "":
		r.problem("%s is empty", name)
	}
	return text
}
