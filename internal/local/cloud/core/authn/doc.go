// Package authn authenticates the callers of the emulated Google Cloud: users by refresh tokens, service accounts by
// assertions that their keys sign, and calls by access tokens.
package authn
