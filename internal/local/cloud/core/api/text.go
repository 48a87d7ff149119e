package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// OneOf reports whether got is one of several alternatives, which bars separate.
func OneOf(alternatives, got string) bool {
	for alternative := range strings.SplitSeq(alternatives, "|") {
		if alternative == got {
			return true
		}
	}
	return false
}

// SetDefault sets an empty field.
func SetDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// SetMissing sets a nil field.
func SetMissing[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// Timestamp formats a time as Google's APIs do.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Printable returns an untrusted name for an error message: on one line, and shortened to the length of a name.
func Printable(name string) string {
	const longest = 80
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	if runes := []rune(name); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return name
}

// RandomDigits returns a random number of count digits. The first digit is not zero.
func RandomDigits(count int) string {
	digits := make([]byte, count)
	for i := range digits {
		digits[i] = byte('0' + mathrand.IntN(10))
	}
	digits[0] = byte('1' + mathrand.IntN(9))
	return string(digits)
}

// RandomText returns a number of random bytes in base64.
func RandomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Hash returns the SHA-256 hash of a text in hexadecimal digits.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
