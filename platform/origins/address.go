package origins

import (
	"net/url"
	"strings"
)

// GitURLProblem returns the problem of an address, or "". It never quotes an address that contains credentials.
func GitURLProblem(address string) string {
	parsed, err := url.Parse(strings.ReplaceAll(address, TeamPlaceholder, "team"))
	switch {
	case err != nil || parsed.Host == "":
		return "is not a URL, such as https://git.example.com/fleet.git"
	case parsed.User != nil && parsed.Scheme != "ssh":
		return "contains a login: give the login in the settings for username and password"
	case parsed.Scheme != "https" && parsed.Scheme != "http" && parsed.Scheme != "ssh":
		return "must begin with https://, http:// or ssh://"
	}
	return ""
}
