//go:build !linux

// Package link creates the network namespaces of pods. Only Linux has them.
package link
