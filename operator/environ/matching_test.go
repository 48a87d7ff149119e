package environ

import (
	"slices"
	"testing"
)

func TestMatching(t *testing.T) {
	env := []string{"PATH=/tools", "GOOGLE_SQL_CUSTOM_ENDPOINT=http://a", "GOOGLE_CREDENTIALS=canary", "EMPTY=", "PULUMI_OPERATOR_FILE_BACKEND_ROOT=/state"}
	cases := map[string]struct {
		patterns, want []string
	}{
		"nothing is passed unasked":          {nil, nil},
		"a name passes its variable":         {[]string{"PATH", "EMPTY"}, []string{"PATH=/tools", "EMPTY="}},
		"a wildcard passes what it matches":  {[]string{"GOOGLE_*_CUSTOM_ENDPOINT"}, []string{"GOOGLE_SQL_CUSTOM_ENDPOINT=http://a"}},
		"a variable passes once":             {[]string{"PATH", "P*"}, []string{"PATH=/tools"}},
		"the operator's own never passes":    {[]string{"PULUMI_*", "PULUMI_OPERATOR_FILE_BACKEND_ROOT"}, nil},
		"a variable that is not set is none": {[]string{"MISSING"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Matching(env, c.patterns, "PULUMI_OPERATOR_")
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("passed %v (%v), want %v", got, err, c.want)
			}
		})
	}
	if _, err := Matching(env, []string{"[A"}, ""); err == nil {
		t.Error("a pattern that is none was accepted")
	}
}
