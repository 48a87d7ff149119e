package sandbox_test

import (
	"slices"
	"testing"

	"github.com/strata-platform/strata/operator/sandbox"
)

func TestEachNameOfAnEndpointHasItsOwnAddress(t *testing.T) {
	forwarded, err := sandbox.ToEach([]string{"10.0.0.1:443", "storage.googleapis.com:443", "sqladmin.googleapis.com:443", "storage.googleapis.com:80"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, each := range forwarded {
		got = append(got, each.Name+" "+each.Address)
	}
	want := []string{
		" 10.0.0.1:443", "storage.googleapis.com 127.1.0.1:443", "sqladmin.googleapis.com 127.1.0.2:443", "storage.googleapis.com 127.1.0.1:80",
	}
	if !slices.Equal(got, want) {
		t.Errorf("a command reaches %q, want %q", got, want)
	}
	if _, err := sandbox.ToEach([]string{"storage.googleapis.com"}); err == nil {
		t.Error("an address without a port is no error")
	}
}
