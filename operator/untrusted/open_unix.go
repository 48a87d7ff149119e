//go:build unix

package untrusted

import "syscall"

const openNonblock = syscall.O_NONBLOCK
