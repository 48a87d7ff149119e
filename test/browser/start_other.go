//go:build !linux

package browser

import "syscall"

// Main does nothing: Debian's Chromium runs on Linux only.
func Main() {}

func attributes() *syscall.SysProcAttr { return nil }
