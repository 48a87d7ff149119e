//go:build !unix

package engine

const openNonblock = 0
