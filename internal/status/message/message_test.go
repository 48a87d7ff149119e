package message

import "testing"

func TestAFailedDestroyNamesNoCommandOfPulumi(t *testing.T) {
	for message, want := range map[string]string{
		"instance strata\nis protected. To unprotect this resource, use `pulumi state unprotect`":              "instance strata is protected",
		"it is protected; to unprotect the resource, remove the flag\nor run `pulumi state unprotect 'urn:x'`": "it is protected",
		"Error 403:\n\tno right to delete it":       "Error 403: no right to delete it",
		"cannot unprotect the door of the database": "cannot unprotect the door of the database",
		"": "",
	} {
		if got := Destroy(message); got != want {
			t.Errorf("of %q it says %q, want %q", message, got, want)
		}
	}
}
