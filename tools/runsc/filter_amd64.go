package main

import "golang.org/x/sys/unix"

const statAt = unix.SYS_NEWFSTATAT
