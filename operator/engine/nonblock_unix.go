//go:build unix

package engine

import "syscall"

const openNonblock = syscall.O_NONBLOCK
