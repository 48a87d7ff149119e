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
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20261123165657-dad90e3aabbc"}}
	if commit, modified := fromGo(installed); commit != "dad90e3aabbc" || modified {
		t.Errorf("of an installed commit, Go has recorded %s, %v", commit, modified)
	}
	if commit, _ := fromGo(&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}); commit != "" {
		t.Errorf("of an installed version, Go has recorded the commit %s", commit)
	}
	defer func() { commit, modified = "", "" }()
	commit, modified = "def", "true"
	if info := Read(); info.Commit != "def" || !info.Modified || info.Version != Version || info.Go == "" || info.OS == "" || info.Arch == "" {
		t.Errorf("the build is %+v", info)
	}
}
