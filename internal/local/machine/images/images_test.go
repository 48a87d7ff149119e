package images_test

import (
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

func TestAPulledImageSaysWhatItRuns(t *testing.T) {
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/app", imagetest.Image(t, imagetest.Files{"etc/passwd": "root:x:0:0::/root:\nwww:x:33:34::/srv:\n"}))
	home, err := images.Open(t.TempDir(), images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := home.Get(t.Context(), host+"/app"); fault.Of(err) != fault.NotFound {
		t.Errorf("before the pull the error is %v", err)
	}
	image, err := home.Pull(t.Context(), host+"/app", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if image.Config.Entrypoint[0] != "/init" || image.Contents.Entries != 1 || image.Name != host+"/app:latest" {
		t.Errorf("the image is %+v", image)
	}
	if user, err := image.User(image.Config.User); err != nil || user.UID != 33 || user.GID != 34 {
		t.Errorf("its user is %+v (%v)", user, err)
	}
	lease, err := home.Lease(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Close()
	none := func(store.Reference) bool { return false }
	if _, err := home.Store().Collect(t.Context(), none, 0); err != nil {
		t.Fatal(err)
	}
	if again, err := home.Store().Read(image.ID); err != nil || len(again) == 0 {
		t.Errorf("Collect removed a leased image: %v", err)
	}
}
