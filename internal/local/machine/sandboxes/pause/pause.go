// Package pause contains the first process of each pod's sandbox: a program that does nothing, in an EROFS image. The program is
// the first process of the containers that share their processes, and leaves no zombies.
package pause

import (
	"encoding/binary"
	"fmt"
)

// Program is the path of the program in the image.
const Program = "/pause"

// Image returns the EROFS image for an architecture, as runtime.GOARCH names it.
func Image(arch string) ([]byte, error) {
	code, ok := map[string][]byte{"amd64": amd64, "arm64": arm64}[arch]
	if !ok {
		return nil, fmt.Errorf("build the pause program: the architecture %s is unknown: use amd64 or arm64", arch)
	}
	return erofs(Program[1:], elf(code, map[string]uint16{"amd64": 62, "arm64": 183}[arch])), nil
}

// The machine code ignores SIGCHLD, so that the kernel removes ended children (sigaction(2)), and then waits for signals for
// ever. The struct sigaction lies on the stack.
var (
	amd64 = []byte{
		0x48, 0x83, 0xec, 0x20, // sub rsp, 32
		0x31, 0xc0, // xor eax, eax
		0x48, 0xc7, 0x04, 0x24, 0x01, 0x00, 0x00, 0x00, // mov qword [rsp], 1 (SIG_IGN)
		0x48, 0x89, 0x44, 0x24, 0x08, // mov [rsp+8], rax
		0x48, 0x89, 0x44, 0x24, 0x10, // mov [rsp+16], rax
		0x48, 0x89, 0x44, 0x24, 0x18, // mov [rsp+24], rax
		0xbf, 0x11, 0x00, 0x00, 0x00, // mov edi, 17 (SIGCHLD)
		0x48, 0x89, 0xe6, // mov rsi, rsp
		0x31, 0xd2, // xor edx, edx
		0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // mov r10d, 8
		0xb8, 0x0d, 0x00, 0x00, 0x00, // mov eax, 13 (rt_sigaction)
		0x0f, 0x05, // syscall
		0xb8, 0x22, 0x00, 0x00, 0x00, // mov eax, 34 (pause)
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp to the mov before
	}
	arm64 = words(
		0xd10083ff, // sub sp, sp, #32
		0xd2800020, // mov x0, #1 (SIG_IGN)
		0xa9007fe0, // stp x0, xzr, [sp]
		0xa9017fff, // stp xzr, xzr, [sp, #16]
		0xd2800220, // mov x0, #17 (SIGCHLD)
		0x910003e1, // mov x1, sp
		0xd2800002, // mov x2, #0
		0xd2800103, // mov x3, #8
		0xd28010c8, // mov x8, #134 (rt_sigaction)
		0xd4000001, // svc #0
		0xd2800000, // mov x0, #0
		0xd2800001, // mov x1, #0
		0xd2800002, // mov x2, #0
		0xd2800003, // mov x3, #0
		0xd2800928, // mov x8, #73 (ppoll)
		0xd4000001, // svc #0
		0x17fffffa, // b to the first of the four mov before
	)
)

func words(instructions ...uint32) []byte {
	var code []byte
	for _, instruction := range instructions {
		code = binary.LittleEndian.AppendUint32(code, instruction)
	}
	return code
}

// elf returns a static executable with one segment (elf(5)).
func elf(code []byte, machine uint16) []byte {
	const base, headers = 0x400000, 64 + 56
	le := binary.LittleEndian
	b := append([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, make([]byte, 9)...)
	b = le.AppendUint16(b, 2) // ET_EXEC
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, base+headers) // entry
	b = le.AppendUint64(b, 64)           // program headers
	b = le.AppendUint64(b, 0)            // no section headers
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, 1, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	size := uint64(headers + len(code))
	b = le.AppendUint32(b, 1) // PT_LOAD
	b = le.AppendUint32(b, 5) // readable, executable
	for _, v := range []uint64{0, base, base, size, size, 0x1000} {
		b = le.AppendUint64(b, v)
	}
	return append(b, code...)
}
