package origin

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/source"
)

func TestFoldersOfLookupsAreRemovedAfterAKill(t *testing.T) {
	folders := &workdir.Folders{Parent: t.TempDir()}
	f := NewFinder(nil, nil, folders)
	homes := func() []string {
		found, err := filepath.Glob(filepath.Join(folders.Parent, "*", "git-*"))
		if err != nil {
			t.Error(err)
		}
		return found
	}
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if asked {
			return
		}
		asked = true
		if len(homes()) != 1 {
			t.Errorf("git's credentials are not in the folder of runs: %v", homes())
		}
		// The next operator calls Clean at its start.
		if err := folders.Clean(); err != nil {
			t.Error(err)
		}
		if left := homes(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		<-req.Context().Done() // Git ends before the server answers.
	}))
	defer server.Close()
	if _, err := f.resolveGit(t.Context(), source.Git{URL: server.URL + "/shop.git", Branch: "main"}, nil); err == nil || !asked {
		t.Errorf("error %v, server asked %t", err, asked)
	}
}
