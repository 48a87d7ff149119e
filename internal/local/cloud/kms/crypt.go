package kms

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// maxPlaintext is the maximum length of a plaintext, and of additional authenticated data.
const maxPlaintext = 64 << 10

// A ciphertext has a header: its format, then the number of the version that encrypted it.
const (
	format       = 1
	headerLength = 5
)

// encryptRequest and decryptRequest have pointers to checksums, because 0 is a checksum, too.
type encryptRequest struct {
	Plaintext                         string `json:"plaintext"`
	AdditionalAuthenticatedData       string `json:"additionalAuthenticatedData"`
	PlaintextCrc32c                   *int64 `json:"plaintextCrc32c,string"`
	AdditionalAuthenticatedDataCrc32c *int64 `json:"additionalAuthenticatedDataCrc32c,string"`
}

type decryptRequest struct {
	Ciphertext                        string `json:"ciphertext"`
	AdditionalAuthenticatedData       string `json:"additionalAuthenticatedData"`
	CiphertextCrc32c                  *int64 `json:"ciphertextCrc32c,string"`
	AdditionalAuthenticatedDataCrc32c *int64 `json:"additionalAuthenticatedDataCrc32c,string"`
}

type encryptResponse struct {
	Name                                      string `json:"name"`
	Ciphertext                                string `json:"ciphertext"`
	CiphertextCrc32c                          int64  `json:"ciphertextCrc32c,string"`
	VerifiedPlaintextCrc32c                   bool   `json:"verifiedPlaintextCrc32c,omitempty"`
	VerifiedAdditionalAuthenticatedDataCrc32c bool   `json:"verifiedAdditionalAuthenticatedDataCrc32c,omitempty"`
	ProtectionLevel                           string `json:"protectionLevel"`
}

type decryptResponse struct {
	Plaintext       string `json:"plaintext"`
	PlaintextCrc32c int64  `json:"plaintextCrc32c,string"`
	UsedPrimary     bool   `json:"usedPrimary,omitempty"`
	ProtectionLevel string `json:"protectionLevel"`
}

// crc32c returns Google's checksum of data: CRC32 with the polynomial of Castagnoli.
func crc32c(data []byte) int64 { return int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))) }

// decoded decodes a field of bytes, and compares it with the checksum of the request, which may be nil.
func decoded(field, text string, checksum *int64) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, api.InvalidArgument("Invalid value at '%s' (TYPE_BYTES): Base64 decoding failed.", field)
	}
	if checksum != nil && *checksum != crc32c(data) {
		return nil, api.InvalidArgument("The checksum in field %s_crc32c did not match the data in field %s.", field, field)
	}
	return data, nil
}

// encrypt encrypts with the version that the path names, or else with the primary version.
func (s *service) encrypt(c *api.Call) (any, error) {
	var request encryptRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	plaintext, err := decoded("plaintext", request.Plaintext, request.PlaintextCrc32c)
	if err != nil {
		return nil, err
	}
	extra, err := decoded("additional_authenticated_data", request.AdditionalAuthenticatedData, request.AdditionalAuthenticatedDataCrc32c)
	if err != nil {
		return nil, err
	}
	if len(plaintext) > maxPlaintext || len(extra) > maxPlaintext {
		return nil, api.InvalidArgument("The plaintext and the additional authenticated data must not be larger than 64 KiB.")
	}
	found, _, err := s.version(c, c.Vars["version"])
	if err != nil {
		return nil, err
	}
	sealer, err := newCipher(found)
	if err != nil {
		return nil, err
	}
	sealed := binary.BigEndian.AppendUint32([]byte{format}, uint32(found.Number)) //nolint:gosec // A key has few versions.
	nonce := make([]byte, sealer.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	sealed = sealer.Seal(append(sealed, nonce...), nonce, plaintext, authenticated(c, extra))
	return &encryptResponse{
		Name: found.Version.Name, Ciphertext: base64.StdEncoding.EncodeToString(sealed), CiphertextCrc32c: crc32c(sealed),
		VerifiedPlaintextCrc32c: request.PlaintextCrc32c != nil, ProtectionLevel: level,
		VerifiedAdditionalAuthenticatedDataCrc32c: request.AdditionalAuthenticatedDataCrc32c != nil,
	}, nil
}

// version returns the enabled version of the call's key with an ID, or the primary version if the ID is empty.
func (s *service) version(c *api.Call, id string) (found *version, k *key, err error) {
	err = s.Store.View(func(tx *bbolt.Tx) error {
		if k, err = find[key](tx, keys, "CryptoKey", keyName(c)); err != nil {
			return err
		}
		number := k.Primary
		if id != "" {
			if number, err = versionNumber(id); err != nil {
				return err
			}
		}
		if number == 0 {
			return api.FailedPrecondition("%s has no primary version.", k.Key.Name)
		}
		if found, err = s.findVersion(tx, k.Key.Name, number); err != nil {
			return err
		}
		return usable(found)
	})
	return found, k, err
}

func newCipher(v *version) (cipher.AEAD, error) {
	block, err := aes.NewCipher(v.Material)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// authenticated binds a ciphertext to the name of its key and to the data of the request.
func authenticated(c *api.Call, extra []byte) []byte {
	return append([]byte(keyName(c)+"\x00"), extra...)
}

// undecipherable returns Google's error for a ciphertext of another key, or with other authenticated data.
func undecipherable() *api.Error {
	return api.InvalidArgument("Decryption failed: verify that 'name' refers to the correct CryptoKey.")
}

// decrypt decrypts with the version that the ciphertext names, if it is enabled.
func (s *service) decrypt(c *api.Call) (any, error) {
	var request decryptRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	sealed, err := decoded("ciphertext", request.Ciphertext, request.CiphertextCrc32c)
	if err != nil {
		return nil, err
	}
	extra, err := decoded("additional_authenticated_data", request.AdditionalAuthenticatedData, request.AdditionalAuthenticatedDataCrc32c)
	if err != nil {
		return nil, err
	}
	if len(sealed) < headerLength || sealed[0] != format {
		return nil, undecipherable()
	}
	found, k, err := s.version(c, strconv.FormatUint(uint64(binary.BigEndian.Uint32(sealed[1:headerLength])), 10))
	if err != nil && k != nil && found == nil {
		return nil, undecipherable() // The key has no such version.
	}
	if err != nil {
		return nil, err
	}
	opener, err := newCipher(found)
	if err != nil {
		return nil, err
	}
	rest := sealed[headerLength:]
	if len(rest) < opener.NonceSize() {
		return nil, undecipherable()
	}
	plaintext, err := opener.Open(nil, rest[:opener.NonceSize()], rest[opener.NonceSize():], authenticated(c, extra))
	if err != nil {
		return nil, undecipherable()
	}
	return &decryptResponse{
		Plaintext: base64.StdEncoding.EncodeToString(plaintext), PlaintextCrc32c: crc32c(plaintext),
		UsedPrimary: found.Number == k.Primary, ProtectionLevel: level,
	}, nil
}
