package source

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
)

var (
	// mark matches the prefix of the lines in which git reports an error.
	mark = regexp.MustCompile(`^(fatal|error|remote): `)

	// sshFailure matches the lines in which ssh reports an error.
	sshFailure = regexp.MustCompile(`Permission denied|verification failed|Connection (refused|closed|timed out)|Could not resolve`)
)

// hostKeyAdvice follows ssh's message about an unknown host key.
const hostKeyAdvice = ": the known hosts list no key of this host, or another one: get the key from the administrator of the host (ssh-keyscan shows the unverified key), " +
	"and add its line to the key known_hosts of the Secret with the SSH key"

// failure returns git's error messages as an error of one line, without secrets.
func (c *checkout) failure(ctx context.Context, err error, out string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("it took too long: fetch less (spec.shallow), or check the server")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	message := err.Error()
	var reported []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		text := mark.ReplaceAllString(line, "")
		if text != "" && (text != line || sshFailure.MatchString(line)) {
			reported = append(reported, text)
		}
	}
	if reported == nil {
		reported = strings.Fields(out)
	}
	if len(reported) > 0 {
		message = strings.Join(reported, "; ")
	}
	if strings.Contains(out, "Host key verification failed") {
		message = "Host key verification failed" + hostKeyAdvice
	}
	const longest = 500
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest], "") + "..."
	}
	for _, secret := range c.secret {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "[secret]")
		}
	}
	return errors.New(strings.Join(strings.Fields(message), " "))
}

// beginning keeps the first outputSize bytes that are written to it.
type beginning struct{ bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	if room := outputSize - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
