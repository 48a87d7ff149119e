package settings

import "testing"

func FuzzSalt(f *testing.F) {
	for _, seed := range []string{"v1:AAAA:v1:AAAA:AAAA", "v1:AAAA:v1:AAAAAAAAAAAAAAAA:AAAA", "v1::", "v2:a:b", "v1:?:x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, salt string) {
		if _, err := newKey("open sesame", salt); err == nil {
			t.Errorf("%q is taken for that of the passphrase", salt)
		}
	})
}
