package browser

import (
	"errors"
	"slices"
	"testing"
)

func TestOpenerIsThatOfTheUserOrOfTheDesktop(t *testing.T) {
	for name, test := range map[string]struct {
		system string
		env    map[string]string
		found  []string
		want   []string
	}{
		"the user's":                    {"linux", map[string]string{"BROWSER": "firefox -P dev"}, []string{"firefox"}, []string{"firefox", "-P", "dev", "http://x"}},
		"the user's with a place":       {"linux", map[string]string{"BROWSER": "w3m %s -M"}, []string{"w3m"}, []string{"w3m", "http://x", "-M"}},
		"the first that exists":         {"linux", map[string]string{"BROWSER": "none:lynx"}, []string{"lynx"}, []string{"lynx", "http://x"}},
		"the desktop's":                 {"linux", map[string]string{"DISPLAY": ":0"}, []string{"xdg-open"}, []string{"xdg-open", "http://x"}},
		"macOS":                         {"darwin", nil, []string{"open"}, []string{"open", "http://x"}},
		"none on a machine for servers": {"linux", nil, []string{"xdg-open"}, nil},
		"none if nothing is installed":  {"linux", map[string]string{"WAYLAND_DISPLAY": "w"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			find := func(program string) (string, error) {
				if slices.Contains(test.found, program) {
					return "/bin/" + program, nil
				}
				return "", errors.New("not found")
			}
			if got := opener("http://x", test.system, func(n string) string { return test.env[n] }, find); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
