package cloud

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// oneOf reports whether got is one of several alternatives, which bars separate.
func oneOf(alternatives, got string) bool {
	for alternative := range strings.SplitSeq(alternatives, "|") {
		if alternative == got {
			return true
		}
	}
	return false
}

// setDefault sets an empty field.
func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// setMissing sets a nil field.
func setMissing[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// timestamp formats a time as Google's APIs do.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// printable returns an untrusted name for an error message: in one line, and cut to the length of a name.
func printable(name string) string {
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

// randomDigits returns a random number of count digits. The first digit is not zero.
func randomDigits(count int) string {
	digits := make([]byte, count)
	for i := range digits {
		digits[i] = byte('0' + mathrand.IntN(10))
	}
	digits[0] = byte('1' + mathrand.IntN(9))
	return string(digits)
}

// randomText returns a number of random bytes in base64.
func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// hash returns the SHA-256 hash of a text in hexadecimal digits.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
