package inputs

import "testing"

func TestVariablesAreExpandedAsInAPod(t *testing.T) {
	env := map[string]string{"A": "1", "EMPTY": ""}
	for text, want := range map[string]string{
		"$(A)-$(A)": "1-1", "$(B)": "$(B)", "$$(A)": "$(A)", "$A": "$A", "$(A": "$(A", "$": "$", "a$(EMPTY)b": "ab", "$$$(A)": "$1",
	} {
		if got := expand(text, env); got != want {
			t.Errorf("%s becomes %q, want %q", text, got, want)
		}
	}
}
