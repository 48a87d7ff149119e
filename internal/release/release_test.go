package release

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pemOf returns a private key in PEM.
func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	made := time.Unix(1_700_000_000, 0)
	var archives [][]byte
	for _, modified := range []time.Time{time.Unix(1, 0), time.Now()} {
		dir := t.TempDir()
		program := write(t, filepath.Join(dir, "program"), "content")
		if err := os.Chtimes(program, modified, modified); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "archive")
		if err := writeArchive(to, made, []member{{"strata", program, 0o755}}); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, content)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the archives differ")
	}
}

func TestTheBillOfMaterialsListsTheModulesOfAProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	made := time.Unix(1_700_000_000, 0)
	document, err := bom("strata", "v1.0.0", made, []string{self, self})
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		BOMFormat, SpecVersion, SerialNumber string
		Metadata                             struct{ Timestamp string }
		Components                           []struct{ PURL string }
	}
	if err := json.Unmarshal(document, &found); err != nil {
		t.Fatal(err)
	}
	if found.BOMFormat != "CycloneDX" || found.SpecVersion != "1.6" || found.SerialNumber != "" || found.Metadata.Timestamp != "2023-11-14T22:13:20Z" {
		t.Errorf("the document is %s", document)
	}
	if len(found.Components) == 0 || !strings.HasPrefix(found.Components[0].PURL, "pkg:golang/stdlib@1.") {
		t.Errorf("the components are %v", found.Components)
	}
	if _, err := bom("x", "v1", made, []string{write(t, filepath.Join(t.TempDir(), "text"), "text")}); err == nil {
		t.Error("a text has a bill of materials")
	}
}

func TestModulesOfAProgram(t *testing.T) {
	var got []string
	for _, c := range linked(&debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/main", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0", Sum: "h1:abc="},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v2.0.0"}},
			{Path: "example.com/c", Version: "v1.0.0", Replace: &debug.Module{Path: "./local"}},
		},
	}) {
		text := c.PackageURL
		if c.Properties != nil {
			text += " " + (*c.Properties)[0].Value
		}
		got = append(got, text)
	}
	want := []string{"pkg:golang/stdlib@1.26.8", "pkg:golang/example.com/a@v1.0.0 h1:abc=", "pkg:golang/example.com/fork@v2.0.0"}
	if !slices.Equal(got, want) {
		t.Errorf("the modules are %v, want %v", got, want)
	}
}

// TestOpensslVerifiesTheSignature follows the steps that docs/releases.md gives to users.
func TestOpensslVerifiesTheSignature(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("needs openssl")
	}
	private := newKey(t, elliptic.P256())
	key, err := ReadKey(pemOf(t, private))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.Sign([]byte("sums"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(string(signature))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	public := write(t, filepath.Join(dir, "strata.pub"), string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	file := write(t, filepath.Join(dir, "raw"), string(raw))
	for content, want := range map[string]bool{"sums": true, "changed": false} {
		out, err := exec.CommandContext(t.Context(), openssl, "dgst", "-sha256", "-verify", public, "-signature", file,
			write(t, filepath.Join(dir, content), content)).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("openssl says of %s: %s", content, out)
		}
	}
	again, err := key.Sign([]byte("sums"))
	if err != nil || !bytes.Equal(again, signature) {
		t.Errorf("the second signature differs, or: %v", err)
	}
}

func TestKeys(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := newKey(t, elliptic.P256())
	sec1, err := x509.MarshalECPrivateKey(good)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ="
	for name, test := range map[string]struct{ text, says string }{
		"PKCS #8":           {pemOf(t, good), ""},
		"a file":            {write(t, filepath.Join(t.TempDir(), "key"), pemOf(t, good)), ""},
		"SEC 1":             {string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})), ""},
		"another curve":     {pemOf(t, newKey(t, elliptic.P384())), "is not an ECDSA key on the curve P-256: create a key with `openssl"},
		"another algorithm": {pemOf(t, edwards), "is not an ECDSA key"},
		"a missing file":    {"/nowhere/key", "neither a key in PEM format nor a file that can be read (no such file or directory)"},
		"a key without PEM": {secret, "neither a key in PEM format nor a file"},
		"a file without a key": {
			write(t, filepath.Join(t.TempDir(), "other"), secret), "is not in PEM format",
		},
		"an encrypted key": {string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: []byte(secret)})), "encrypted keys, public keys and certificates"},
		"a damaged key":    {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte(secret)})), `is a PEM block "PRIVATE KEY": `},
		"half a PEM block": {"-----BEGIN PRIVATE KEY-----\n" + secret, "is not in PEM format"},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := ReadKey(test.text)
			if test.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if print, err := key.Fingerprint(); err != nil || len(print) != 64 {
					t.Errorf("the fingerprint is %q, %v", print, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want one line with %q", err, test.says)
			}
		})
	}
}

// repository returns a Git repository with one commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "content")
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message", "one")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func TestTheCommitOfARelease(t *testing.T) {
	dir := repository(t)
	c, err := readCommit(t.Context(), dir)
	if err != nil || len(c.hash) != 40 || c.time.Unix() != 1_700_000_000 || c.modified {
		t.Errorf("the commit is %+v, %v", c, err)
	}
	write(t, filepath.Join(dir, "new"), "")
	if c, err = readCommit(t.Context(), dir); err != nil || !c.modified {
		t.Errorf("with a new file the commit is %+v, %v", c, err)
	}
}

func TestReleasesThatAreNotBuilt(t *testing.T) {
	changed := repository(t)
	write(t, filepath.Join(changed, "file"), "changed")
	full := t.TempDir()
	write(t, filepath.Join(full, "old"), "")
	linux := []string{"linux/amd64"}
	for name, test := range map[string]struct {
		options Options
		says    string
	}{
		"of changes":             {Options{Root: changed, Out: t.TempDir(), Platforms: linux}, "contains changes that are not committed"},
		"for no platform":        {Options{Out: t.TempDir()}, "name a platform"},
		"for another platform":   {Options{Out: t.TempDir(), Platforms: []string{"plan9/mips"}}, `unknown platform "plan9/mips": the platforms are linux/amd64, `},
		"into a folder of files": {Options{Out: full, Platforms: linux}, "is not empty: remove it"},
		"without a repository":   {Options{Root: t.TempDir(), Out: t.TempDir(), Platforms: linux}, "find the commit of the release: git show: "},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Log = io.Discard
			if err := Build(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v, want %q", err, test.says)
			}
		})
	}
}

func TestAReleaseWithoutAKeySaysSo(t *testing.T) {
	private, err := ReadKey(pemOf(t, newKey(t, elliptic.P256())))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []*Key{nil, private} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a"), "content")
		var log bytes.Buffer
		if err := (Options{Out: dir, Key: key, Log: &log}).sign(); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(filepath.Join(dir, sumsName))
		if want := "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73  a\n"; err != nil || string(list) != want {
			t.Errorf("the checksums are %q, %v", list, err)
		}
		_, err = os.Stat(filepath.Join(dir, signatureName))
		if unsigned := strings.Contains(log.String(), "UNSIGNED: this release has no signature"); unsigned != (key == nil) || (err == nil) != (key != nil) {
			t.Errorf("with the key %v, the log is %q, and the signature: %v", key != nil, log.String(), err)
		}
	}
}
