package owners

import (
	"maps"
	"testing"
)

func TestRecordsAreTheirTexts(t *testing.T) {
	for text, want := range map[string]Record{
		"0:0:0000":                   {},
		"999:998:0644":               {UID: 999, GID: 998, Mode: 0o644},
		"4294967295:4294967295:7777": {UID: 1<<32 - 1, GID: 1<<32 - 1, Mode: 0o7777},
		"65534:65534:4755":           {UID: 65534, GID: 65534, Mode: 0o4755},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestOtherTextsAreNoRecords(t *testing.T) {
	for _, text := range []string{
		"", ":", "::", "999:999", "999:999:", "999:999:644", "999:999:00644", "999:999:0888", "999:999:17777", "-1:0:0644",
		"+1:0:0644", "4294967296:0:0644", "0999:999:0644", "a:b:c", "999:999:0644:", "999:999:0644\n", " 999:999:0644", "0x1:0:0644",
	} {
		if r, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v", text, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("999:999:0644")
	f.Add("0:0:7777")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := Parse(text); err == nil && r.String() != text {
			t.Errorf("Parse(%q) = %v, whose text is %q", text, r, r.String())
		}
	})
}

func TestAGroupGetsThePermissionsThatKubernetesGivesIt(t *testing.T) {
	for name, c := range map[string]struct {
		old    Record
		folder bool
		want   Record
	}{
		"a private file":                   {Record{999, 999, 0o600}, false, Record{999, 2000, 0o660}},
		"a program keeps its other bits":   {Record{0, 0, 0o4755}, false, Record{0, 2000, 0o4775}},
		"a private folder":                 {Record{999, 999, 0o700}, true, Record{999, 2000, 0o2770}},
		"a folder for all":                 {Record{0, 0, 0o1777}, true, Record{0, 2000, 0o3777}},
		"a folder that nobody may change":  {Record{0, 0, 0o555}, true, Record{0, 2000, 0o2775}},
		"a folder that the group has got":  {Record{0, 2000, 0o2775}, true, Record{0, 2000, 0o2775}},
		"a file without any permissions":   {Record{1, 1, 0}, false, Record{1, 2000, 0o660}},
		"a folder without any permissions": {Record{1, 1, 0}, true, Record{1, 2000, 0o2770}},
	} {
		if got := c.old.forGroup(2000, c.folder); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAVolumeHasTheAnnotationsOfAnExternalOne(t *testing.T) {
	want := map[string]string{
		"dev.gvisor.spec.mount.data.source": "/volumes/1",
		"dev.gvisor.spec.mount.data.type":   "bind",
		"dev.gvisor.spec.mount.data.share":  "shared",
	}
	if got := Annotations("data", "/volumes/1"); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
