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

func TestABuildThatFailsNamesTheFile(t *testing.T) {
	for message, want := range map[string]string{
		`kustomize build failed: accumulating resources: accumulation err='accumulating resources from 'app-infra.yaml': may not add resource with an already registered id: ` +
			`Stack.v1.pulumi.com/wordpress-infra.[noNs]': must build at directory: '/tmp/kustomization-1/app-infra.yaml': file is not directory`: "app-infra.yaml contains Stack wordpress-infra a second time: rename or remove one of the two",
		`may not add resource with an already registered id: ConfigMap.v1.[noGrp]/settings.v2.[web]`: "the folder contains ConfigMap settings.v2 a second time: rename or remove one of the two",
		`accumulating resources: something else`:                                                     "something else",
	} {
		if got := Build(message); got != want {
			t.Errorf("of %q it says %q, want %q", message, got, want)
		}
	}
}
