package unpack_test

import (
	"archive/tar"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/unpack"
)

func TestHostileLayersAreRefused(t *testing.T) {
	truncated := layer{file("a", strings.Repeat("1", 1000))}.archive(t)[:700]
	var deep []tar.Header
	for i := range 50 {
		deep = append(deep, symlink(fmt.Sprintf("l%d", i), fmt.Sprintf("l%d", i+1)))
	}
	for name, c := range map[string]struct {
		stream []byte
		kind   fault.Kind
		want   string
	}{
		"dots in a name":                {layer{file("a/../../etc/passwd", "x")}.archive(t), fault.Corrupt, `entry "a/../../etc/passwd": the name contains ".."`},
		"dots in a whiteout":            {layer{file("../.wh.a", "")}.archive(t), fault.Corrupt, `the name contains ".."`},
		"a whiteout of the parent":      {layer{file("a/.wh...", "")}.archive(t), fault.Corrupt, "the whiteout has no name"},
		"a hard link to nothing":        {layer{hardlink("a", "/etc/shadow")}.archive(t), fault.Corrupt, `the hard link's target "/etc/shadow" does not exist`},
		"a hard link with dots":         {layer{hardlink("a", "../../etc/shadow")}.archive(t), fault.Corrupt, `contains ".."`},
		"a hard link to a folder":       {layer{folder("d"), hardlink("a", "d")}.archive(t), fault.Corrupt, `the hard link's target "d" is a folder`},
		"a hard link through a link":    {layer{symlink("l", "/"), hardlink("a", "l/etc/shadow")}.archive(t), fault.Corrupt, "does not exist"},
		"a file as a parent":            {layer{file("a", "1"), file("a/b", "2")}.archive(t), fault.Corrupt, `entry "a/b": a parent is not a folder`},
		"a loop of links":               {layer{symlink("l", "l"), file("l/a", "1")}.archive(t), fault.Corrupt, "too many symbolic links"},
		"a long chain of links":         {layer(append(deep, file("l0/a", "1"))).archive(t), fault.Corrupt, "too many symbolic links"},
		"the root as a file":            {layer{file(".", "x")}.archive(t), fault.Corrupt, "the root of the image is a folder"},
		"a name of more than 255 bytes": {layer{file(strings.Repeat("n", 256), "x")}.archive(t), fault.Corrupt, "longer than 255 bytes"},
		"a link without a target":       {layer{symlink("a", "")}.archive(t), fault.Corrupt, "the symbolic link has a target that is empty"},
		"an unknown type":               {layer{{Typeflag: 'Z', Name: "a"}}.archive(t), fault.Corrupt, "unknown type 'Z'"},
		"a negative owner":              {layer{{Typeflag: tar.TypeDir, Name: "a", Uid: -1, Format: tar.FormatGNU}}.archive(t), fault.Corrupt, "is not a user ID"},
		"no archive":                    {[]byte(strings.Repeat("no archive ", 100)), fault.Corrupt, "layer: it is not a tar archive"},
		"a broken gzip stream":          {[]byte("\x1f\x8b\x08 no gzip"), fault.Corrupt, "layer: it is not a tar archive"},
		"a broken zstd stream":          {[]byte("\x28\xb5\x2f\xfd no zstd"), fault.Corrupt, "layer: it is not a tar archive"},
		"a truncated archive":           {truncated, fault.Corrupt, "layer: it is not a tar archive"},
		"too many entries":              {layer(slices.Repeat([]tar.Header{folder("d")}, 101)).archive(t), fault.TooLarge, "more than 100 entries"},
		"a bomb in a file":              {compress(t, layer{file("a", strings.Repeat("0", 2<<20))}.archive(t)), fault.TooLarge, "more than 1048576 bytes"},
		"a bomb after the archive":      {compress(t, append(layer{}.archive(t), make([]byte, 2<<20)...)), fault.TooLarge, "more bytes after decompression"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := unpacked(t, unpack.Limits{Bytes: 1 << 20, Entries: 100}, c.stream)
			if fault.Of(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %s: %q", err, c.kind, c.want)
			}
		})
	}
}
