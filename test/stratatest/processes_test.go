package stratatest

import "testing"

func TestShare(t *testing.T) {
	for _, test := range []struct {
		name, rollup string
		want         int64
	}{
		{"is the sum of all mappings", "00400000-7fff0000 ---p 00000000 00:00 0   [rollup]\nRss:     300 kB\nPss:     120 kB\nPss_Anon: 20 kB\n", 120 << 10},
		{"is 0 for a process that has ended", "", 0},
	} {
		if got := share(test.rollup); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
