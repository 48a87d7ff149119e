package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestTheCommitIsTheLinkersOrGos(t *testing.T) {
	recorded := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}}
	if commit, modified := fromGo(recorded); commit != "abc" || !modified {
		t.Errorf("Go has recorded %s, %v", commit, modified)
	}
	defer func() { commit, modified = "", "" }()
	commit, modified = "def", "true"
	if info := Read(); info.Commit != "def" || !info.Modified || info.Version != Version || info.Go == "" || info.OS == "" || info.Arch == "" {
		t.Errorf("the build is %+v", info)
	}
}
