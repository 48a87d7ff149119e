package cloud_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	kmsclient "cloud.google.com/go/kms/apiv1"
	"cloud.google.com/go/kms/apiv1/kmspb"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/strata-platform/strata/internal/local/cloud"
)

const keyRing = "projects/" + projectID + "/locations/europe-west1/keyRings/strata"

// kms returns Google's own client of Cloud KMS, which calls by gRPC, through a tunnel.
func (c *emulator) kms(file []byte) *kmsclient.KeyManagementClient {
	c.t.Helper()
	kind := google.ServiceAccount
	if strings.Contains(string(file), `"authorized_user"`) {
		kind = google.AuthorizedUser
	}
	login, err := google.CredentialsFromJSONWithType(c.t.Context(), file, kind, cloudPlatform)
	if err != nil {
		c.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Authority())
	client, err := kmsclient.NewKeyManagementClient(c.t.Context(), option.WithTokenSource(login.TokenSource),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(pool, ""))),
		option.WithGRPCDialOption(grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return c.tunnel(ctx, address) })))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// tunnel opens a tunnel to one of Google's hosts.
func (c *emulator) tunnel(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	// The answer to CONNECT has no body: what follows it belongs to the connection.
	if err := answer.Body.Close(); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	return conn, nil
}

// newKeys creates the key ring and keys in it, as the engineer.
func (c *emulator) newKeys(ids ...string) *kmsclient.KeyManagementClient {
	c.t.Helper()
	owner := c.kms(c.engineer)
	parent, _, _ := strings.Cut(keyRing, "/keyRings/")
	if _, err := owner.CreateKeyRing(c.t.Context(), &kmspb.CreateKeyRingRequest{Parent: parent, KeyRingId: "strata"}); err != nil {
		c.t.Fatal(err)
	}
	for _, id := range ids {
		made, err := owner.CreateCryptoKey(c.t.Context(), &kmspb.CreateCryptoKeyRequest{
			Parent: keyRing, CryptoKeyId: id, CryptoKey: &kmspb.CryptoKey{Purpose: kmspb.CryptoKey_ENCRYPT_DECRYPT, Labels: map[string]string{"team": id}},
		})
		if err != nil {
			c.t.Fatal(err)
		}
		if made.GetName() != keyOf(id) || made.GetPrimary().GetState() != kmspb.CryptoKeyVersion_ENABLED || made.GetLabels()["team"] != id {
			c.t.Errorf("the new key is %v", made)
		}
	}
	return owner
}

func keyOf(id string) string { return keyRing + "/cryptoKeys/" + id }

func checksum(data string) *wrapperspb.Int64Value {
	return wrapperspb.Int64(int64(crc32.Checksum([]byte(data), crc32.MakeTable(crc32.Castagnoli))))
}

// wantCode checks the code and the words of an error by gRPC.
func wantCode(t *testing.T, err error, code codes.Code, words ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("error is %v; want %s", err, code)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not contain %q", err, word)
		}
	}
}

func TestGooglesClientEncryptsAndDecrypts(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.newKeys("web", "shop")
	sealed, err := owner.Encrypt(t.Context(), &kmspb.EncryptRequest{
		Name: keyOf("web"), Plaintext: []byte("open"), PlaintextCrc32C: checksum("open"), AdditionalAuthenticatedData: []byte("dev"),
		AdditionalAuthenticatedDataCrc32C: checksum("dev"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !sealed.GetVerifiedPlaintextCrc32C() || !sealed.GetVerifiedAdditionalAuthenticatedDataCrc32C() ||
		sealed.GetCiphertextCrc32C().GetValue() != checksum(string(sealed.GetCiphertext())).GetValue() || sealed.GetName() != keyOf("web")+"/cryptoKeyVersions/1" {
		t.Errorf("the response is %v", sealed)
	}
	c.restart(false)
	decrypt := func(change func(*kmspb.DecryptRequest)) (*kmspb.DecryptResponse, error) {
		request := &kmspb.DecryptRequest{
			Name: keyOf("web"), Ciphertext: sealed.GetCiphertext(), CiphertextCrc32C: sealed.GetCiphertextCrc32C(), AdditionalAuthenticatedData: []byte("dev"),
		}
		change(request)
		return owner.Decrypt(t.Context(), request)
	}
	opened, err := decrypt(func(*kmspb.DecryptRequest) {})
	if err != nil || string(opened.GetPlaintext()) != "open" || opened.GetPlaintextCrc32C().GetValue() != checksum("open").GetValue() || !opened.GetUsedPrimary() {
		t.Errorf("decrypted: %v, %v", opened, err)
	}
	for name, change := range map[string]func(*kmspb.DecryptRequest){
		"another key":         func(r *kmspb.DecryptRequest) { r.Name = keyOf("shop") },
		"other authenticated": func(r *kmspb.DecryptRequest) { r.AdditionalAuthenticatedData = []byte("prod") },
		"a version that is not": func(r *kmspb.DecryptRequest) {
			r.Ciphertext, r.CiphertextCrc32C = append([]byte{1, 0, 0, 0, 9}, r.Ciphertext[5:]...), nil
		},
		"a short ciphertext":      func(r *kmspb.DecryptRequest) { r.Ciphertext, r.CiphertextCrc32C = r.Ciphertext[:12], nil },
		"no ciphertext":           func(r *kmspb.DecryptRequest) { r.Ciphertext, r.CiphertextCrc32C = nil, nil },
		"a wrong checksum":        func(r *kmspb.DecryptRequest) { r.CiphertextCrc32C = wrapperspb.Int64(0) },
		"a wrong checksum of AAD": func(r *kmspb.DecryptRequest) { r.AdditionalAuthenticatedDataCrc32C = wrapperspb.Int64(1) },
	} {
		if _, err := decrypt(change); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = owner.Encrypt(t.Context(), &kmspb.EncryptRequest{Name: keyOf("web"), Plaintext: []byte("open"), PlaintextCrc32C: wrapperspb.Int64(0)})
	wantCode(t, err, codes.InvalidArgument, "plaintext_crc32c")
	_, err = owner.Encrypt(t.Context(), &kmspb.EncryptRequest{Name: keyOf("none"), Plaintext: []byte("open")})
	wantCode(t, err, codes.NotFound, keyOf("none"))
	for _, name := range []string{"", "projects", keyOf("web") + "/..", keyOf("web") + "?x=", keyOf("web:decrypt"), "//" + keyOf("web")} {
		if _, err := owner.Encrypt(t.Context(), &kmspb.EncryptRequest{Name: name}); err == nil {
			t.Errorf("a key called %q has encrypted", name)
		}
	}
	_, err = owner.ListCryptoKeyVersions(t.Context(), &kmspb.ListCryptoKeyVersionsRequest{Parent: keyOf("web")}).Next()
	if err != nil {
		t.Error(err)
	}
	_, err = owner.GetPublicKey(t.Context(), &kmspb.GetPublicKeyRequest{Name: sealed.GetName()})
	wantCode(t, err, codes.NotFound, "not emulated")
}

// TestKeysAreForThoseWhomTheirPoliciesName tries a key with an account that has a role on this key, on another key, on the
// key ring, and none.
func TestKeysAreForThoseWhomTheirPoliciesName(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.newKeys("web", "shop")
	web, webKey := c.account("team-web")
	_, shopKey := c.account("team-shop")
	audit, auditKey := c.account("auditor")
	const role = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
	grant := func(resource, member string) {
		t.Helper()
		rest := c.kmsREST(t)
		policy := &cloudkms.Policy{Bindings: []*cloudkms.Binding{{Role: role, Members: []string{"serviceAccount:" + member}}}}
		keys := rest.Projects.Locations.KeyRings
		var err error
		if strings.Contains(resource, "/cryptoKeys/") {
			_, err = keys.CryptoKeys.SetIamPolicy(resource, &cloudkms.SetIamPolicyRequest{Policy: policy}).Do()
		} else {
			_, err = keys.SetIamPolicy(resource, &cloudkms.SetIamPolicyRequest{Policy: policy}).Do()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	grant(keyOf("web"), web)
	grant(keyRing, audit)
	sealed, err := owner.Encrypt(t.Context(), &kmspb.EncryptRequest{Name: keyOf("web"), Plaintext: []byte("open")})
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{"on the key": webKey, "on the key ring": auditKey} {
		opened, err := c.kms(key).Decrypt(t.Context(), &kmspb.DecryptRequest{Name: keyOf("web"), Ciphertext: sealed.GetCiphertext()})
		if err != nil || string(opened.GetPlaintext()) != "open" {
			t.Errorf("with the role %s: %v, %v", name, opened, err)
		}
	}
	_, err = c.kms(webKey).Encrypt(t.Context(), &kmspb.EncryptRequest{Name: keyOf("shop"), Plaintext: []byte("x")})
	wantCode(t, err, codes.PermissionDenied, "cloudkms.cryptoKeyVersions.useToEncrypt", keyOf("shop"))
	_, err = c.kms(shopKey).Decrypt(t.Context(), &kmspb.DecryptRequest{Name: keyOf("web"), Ciphertext: sealed.GetCiphertext()})
	wantCode(t, err, codes.PermissionDenied, "cloudkms.cryptoKeyVersions.useToDecrypt", keyOf("web"))
	for name, call := range map[string]func(*kmsclient.KeyManagementClient) error{
		"read the key": func(k *kmsclient.KeyManagementClient) error {
			_, err := k.GetCryptoKey(t.Context(), &kmspb.GetCryptoKeyRequest{Name: keyOf("web")})
			return err
		},
		"destroy a version": func(k *kmsclient.KeyManagementClient) error {
			_, err := k.DestroyCryptoKeyVersion(t.Context(), &kmspb.DestroyCryptoKeyVersionRequest{Name: keyOf("web") + "/cryptoKeyVersions/1"})
			return err
		},
	} {
		if err := call(c.kms(webKey)); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = c.kms([]byte(strings.ReplaceAll(string(c.engineer), "refresh_token\": \"", "refresh_token\": \"no"))).GetKeyRing(t.Context(), &kmspb.GetKeyRingRequest{Name: keyRing})
	if err == nil {
		t.Error("a caller with an unknown login has read the key ring")
	}
}

func TestVersionsOfAKeyChangeAndEnd(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.newKeys("web")
	ctx := t.Context()
	encrypt := func() ([]byte, string, error) {
		sealed, err := owner.Encrypt(ctx, &kmspb.EncryptRequest{Name: keyOf("web"), Plaintext: []byte("open")})
		return sealed.GetCiphertext(), sealed.GetName(), err
	}
	first, firstName, err := encrypt()
	if err != nil {
		t.Fatal(err)
	}
	decrypts := func(ciphertext []byte) error {
		_, err := owner.Decrypt(ctx, &kmspb.DecryptRequest{Name: keyOf("web"), Ciphertext: ciphertext})
		return err
	}
	second, err := owner.CreateCryptoKeyVersion(ctx, &kmspb.CreateCryptoKeyVersionRequest{Parent: keyOf("web"), CryptoKeyVersion: &kmspb.CryptoKeyVersion{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, name, err := encrypt(); err != nil || name != firstName {
		t.Errorf("a new version encrypts before it is primary: %s, %v", name, err)
	}
	if _, err := owner.UpdateCryptoKeyPrimaryVersion(ctx, &kmspb.UpdateCryptoKeyPrimaryVersionRequest{Name: keyOf("web"), CryptoKeyVersionId: "2"}); err != nil {
		t.Fatal(err)
	}
	if _, name, err := encrypt(); err != nil || name != second.GetName() {
		t.Errorf("encrypted with %s, %v", name, err)
	}
	if err := decrypts(first); err != nil {
		t.Errorf("with the older version: %v", err)
	}
	set := func(state kmspb.CryptoKeyVersion_CryptoKeyVersionState) error {
		_, err := owner.UpdateCryptoKeyVersion(ctx, &kmspb.UpdateCryptoKeyVersionRequest{
			CryptoKeyVersion: &kmspb.CryptoKeyVersion{Name: firstName, State: state}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"state"}},
		})
		return err
	}
	if err := set(kmspb.CryptoKeyVersion_DISABLED); err != nil {
		t.Fatal(err)
	}
	wantCode(t, decrypts(first), codes.FailedPrecondition, "DISABLED")
	if err := set(kmspb.CryptoKeyVersion_ENABLED); err != nil {
		t.Fatal(err)
	}
	destroyed, err := owner.DestroyCryptoKeyVersion(ctx, &kmspb.DestroyCryptoKeyVersionRequest{Name: firstName})
	if err != nil || destroyed.GetState() != kmspb.CryptoKeyVersion_DESTROY_SCHEDULED || time.Until(destroyed.GetDestroyTime().AsTime()) < 29*24*time.Hour {
		t.Errorf("destroy: %v, %v", destroyed, err)
	}
	wantCode(t, decrypts(first), codes.FailedPrecondition, "DESTROY_SCHEDULED")
	restored, err := owner.RestoreCryptoKeyVersion(ctx, &kmspb.RestoreCryptoKeyVersionRequest{Name: firstName})
	if err != nil || restored.GetState() != kmspb.CryptoKeyVersion_DISABLED {
		t.Errorf("restore: %v, %v", restored, err)
	}
	if _, err := owner.DestroyCryptoKeyVersion(ctx, &kmspb.DestroyCryptoKeyVersionRequest{Name: firstName}); err != nil {
		t.Fatal(err)
	}
	c.SetClock(func() time.Time { return time.Now().Add(31 * 24 * time.Hour) })
	later := c.kms(c.engineer) // The tokens of the first client have expired.
	ended, err := later.GetCryptoKeyVersion(ctx, &kmspb.GetCryptoKeyVersionRequest{Name: firstName})
	if err != nil || ended.GetState() != kmspb.CryptoKeyVersion_DESTROYED {
		t.Errorf("after 31 days: %v, %v", ended, err)
	}
	_, err = later.RestoreCryptoKeyVersion(ctx, &kmspb.RestoreCryptoKeyVersionRequest{Name: firstName})
	wantCode(t, err, codes.FailedPrecondition, "DESTROYED")
	_, err = later.Decrypt(ctx, &kmspb.DecryptRequest{Name: keyOf("web"), Ciphertext: first})
	wantCode(t, err, codes.FailedPrecondition, "DESTROYED")
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if c.HasKeyMaterial(t, keyOf("web"), 1) || !c.HasKeyMaterial(t, keyOf("web"), 2) {
		t.Error("the store has the material of the destroyed version, or not that of the other one")
	}
}

// kmsREST returns Google's client of the REST calls, as the engineer.
func (c *emulator) kmsREST(t *testing.T) *cloudkms.Service {
	t.Helper()
	made, err := cloudkms.NewService(t.Context(), option.WithEndpoint(strings.TrimSuffix(cloud.Endpoints(c.url)["GOOGLE_KMS_CUSTOM_ENDPOINT"], "v1/")),
		option.WithTokenSource(c.ownerTokens()))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestKeysThatGoogleRejectsAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	c.newKeys("web")
	keys := c.kmsREST(t).Projects.Locations.KeyRings
	_, err := keys.Create("projects/"+projectID+"/locations/europe-west1", &cloudkms.KeyRing{}).KeyRingId("strata").Do()
	refused(t, err, http.StatusConflict, "already exists")
	_, err = keys.Create("projects/"+projectID+"/locations/europe-west1-b", &cloudkms.KeyRing{}).KeyRingId("strata").Do()
	refused(t, err, http.StatusNotFound, "europe-west1-b")
	_, err = keys.Create("projects/"+projectID+"/locations/global", &cloudkms.KeyRing{}).KeyRingId("a b").Do()
	refused(t, err, http.StatusBadRequest, "keyRingId")
	for name, wanted := range map[string]*cloudkms.CryptoKey{
		"purpose":              {Purpose: "MAC"},
		"protection level":     {Purpose: "ENCRYPT_DECRYPT", VersionTemplate: &cloudkms.CryptoKeyVersionTemplate{ProtectionLevel: "HSM"}},
		"algorithm":            {Purpose: "ENCRYPT_DECRYPT", VersionTemplate: &cloudkms.CryptoKeyVersionTemplate{Algorithm: "AES_256_GCM"}},
		"importOnly":           {Purpose: "ENCRYPT_DECRYPT", ImportOnly: true},
		"rotationPeriod":       {Purpose: "ENCRYPT_DECRYPT", RotationPeriod: "60s"},
		"nextRotationTime":     {Purpose: "ENCRYPT_DECRYPT", RotationPeriod: "86400s"},
		"destroyScheduledDura": {Purpose: "ENCRYPT_DECRYPT", DestroyScheduledDuration: "60s"},
	} {
		_, err := keys.CryptoKeys.Create(keyRing, wanted).CryptoKeyId("new").Do()
		refused(t, err, http.StatusBadRequest, name)
	}
	_, err = keys.CryptoKeys.Create(keyRing, &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId("web").Do()
	refused(t, err, http.StatusConflict, "already exists")
	_, err = keys.CryptoKeys.Create(keyRing+"2", &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId("web").Do()
	refused(t, err, http.StatusNotFound, keyRing+"2")
	changed, err := keys.CryptoKeys.Patch(keyOf("web"), &cloudkms.CryptoKey{Labels: map[string]string{"a": "b"}}).UpdateMask("labels").Do()
	if err != nil || changed.Labels["a"] != "b" || changed.Primary == nil {
		t.Errorf("patch: %+v, %v", changed, err)
	}
	_, err = keys.CryptoKeys.Patch(keyOf("web"), &cloudkms.CryptoKey{}).UpdateMask("purpose").Do()
	refused(t, err, http.StatusBadRequest, "purpose")
	listed, err := keys.CryptoKeys.List(keyRing).Do()
	if err != nil || len(listed.CryptoKeys) != 1 || listed.CryptoKeys[0].Primary == nil {
		t.Errorf("list: %+v, %v", listed, err)
	}
}
