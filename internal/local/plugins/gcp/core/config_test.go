package core

import "testing"

func TestRootRemovesTheVersion(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:1/iam/v1/":              "http://127.0.0.1:1/iam/",
		"http://127.0.0.1:1/sqladmin/sql/v1beta4": "http://127.0.0.1:1/sqladmin/",
		"http://127.0.0.1:1/storage/storage/v1/":  "http://127.0.0.1:1/storage/",
		"http://127.0.0.1:1":                      "http://127.0.0.1:1/",
	} {
		if got := root(endpoint); got != want {
			t.Errorf("root(%q) is %q, want %q", endpoint, got, want)
		}
	}
}
