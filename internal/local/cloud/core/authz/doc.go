// Package authz authorises the calls of the emulated Google Cloud, by the roles that IAM policies bind to members.
package authz
