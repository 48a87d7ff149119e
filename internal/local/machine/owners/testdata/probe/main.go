// Command probe is the program in the containers of the tests. Each argument is an operation on files, such as
// "chown /data/file 999 999". It prints a line for each: what it found, or the error.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	syscall.Umask(0o022)
	for _, operation := range os.Args[1:] {
		words := strings.Fields(operation)
		words = append(words, make([]string, 4-min(len(words), 4))...)
		found, err := do(words[0], words[1], words[2], words[3])
		if err != nil {
			var number syscall.Errno
			if errno, ok := unwrap(err).(syscall.Errno); ok {
				number = errno
			}
			found = fmt.Sprintf("%v", number)
			if number == 0 {
				found = err.Error()
			}
		}
		fmt.Printf("%s: %s\n", operation, found)
	}
}

func unwrap(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = inner.Unwrap()
	}
}

func do(verb, path, first, second string) (string, error) {
	switch verb {
	case "write":
		return "ok", os.WriteFile(path, []byte(first), 0o666)
	case "append":
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return "", err
		}
		_, err = file.WriteString(first)
		return "ok", err
	case "read":
		content, err := os.ReadFile(path)
		return string(content), err
	case "mkdir":
		return "ok", syscall.Mkdir(path, number(first, 8))
	case "chmod":
		return "ok", syscall.Chmod(path, number(first, 8))
	case "chown":
		return "ok", syscall.Chown(path, int(number(first, 10)), int(number(second, 10)))
	case "lchown":
		return "ok", syscall.Lchown(path, int(number(first, 10)), int(number(second, 10)))
	case "truncate":
		return "ok", os.Truncate(path, int64(number(first, 10)))
	case "symlink":
		return "ok", os.Symlink(path, first)
	case "readlink":
		return os.Readlink(path)
	case "link":
		return "ok", os.Link(path, first)
	case "rename":
		return "ok", os.Rename(path, first)
	case "remove":
		return "ok", os.Remove(path)
	case "mkfifo":
		return "ok", syscall.Mkfifo(path, 0o644)
	case "mknod":
		return "ok", syscall.Mknod(path, syscall.S_IFREG|number(first, 8), 0)
	case "device":
		return "ok", syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|3)
	case "pause":
		return "", syscall.Pause()
	case "getxattr":
		value := make([]byte, 100)
		n, err := syscall.Getxattr(path, first, value)
		return string(value[:max(n, 0)]), err
	case "list":
		entries, err := filepath.Glob(filepath.Join(path, "*"))
		return strings.Join(entries, " "), err
	case "stat":
		var stat syscall.Stat_t
		err := syscall.Lstat(path, &stat)
		return fmt.Sprintf("%d:%d %06o links=%d size=%d", stat.Uid, stat.Gid, stat.Mode, stat.Nlink, stat.Size), err
	case "statdir": // its number of links and size depend on the file system
		var stat syscall.Stat_t
		err := syscall.Lstat(path, &stat)
		return fmt.Sprintf("%d:%d %06o", stat.Uid, stat.Gid, stat.Mode), err
	}
	return "", fmt.Errorf("no operation is named %q", verb)
}

func number(text string, base int) uint32 {
	n, err := strconv.ParseUint(text, base, 32)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}
