package trace

import "testing"

func TestTokenIDIsThatOfTheAuditLog(t *testing.T) {
	for token, want := range map[string]string{
		// {"jti":"21a4f3b3"}
		"e30.eyJqdGkiOiIyMWE0ZjNiMyJ9.c2ln": "JTI=21a4f3b3",
		"e30.e30.c2ln":                      "",
		"e30.!.c2ln":                        "",
		"opaque":                            "",
		"":                                  "",
	} {
		if got := tokenID(token); got != want {
			t.Errorf("the ID of %q is %q; want %q", token, got, want)
		}
	}
}
