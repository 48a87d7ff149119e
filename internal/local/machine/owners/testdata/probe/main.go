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
	"time"
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
	case "many":
		return many(path, int(number(first, 10)))
	case "stream":
		return stream(path, int(number(first, 10)))
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

// many makes files, changes and removes them, and returns the milliseconds it took.
func many(folder string, count int) (string, error) {
	began := time.Now()
	for i := range count {
		path := filepath.Join(folder, strconv.Itoa(i))
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err != nil {
			return "", err
		}
		if err := os.Chmod(path, 0o600); err != nil {
			return "", err
		}
		if _, err := os.ReadFile(path); err != nil {
			return "", err
		}
		if err := os.Remove(path); err != nil {
			return "", err
		}
	}
	return strconv.FormatInt(time.Since(began).Milliseconds(), 10), nil
}

// stream writes megabytes to a file and reads them, and returns the milliseconds it took.
func stream(path string, megabytes int) (string, error) {
	began := time.Now()
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	block := make([]byte, 1<<20)
	for range megabytes {
		if _, err := file.Write(block); err != nil {
			return "", err
		}
	}
	for i := range megabytes {
		if _, err := file.ReadAt(block, int64(i)<<20); err != nil {
			return "", err
		}
	}
	return strconv.FormatInt(time.Since(began).Milliseconds(), 10), file.Close()
}

func number(text string, base int) uint32 {
	n, err := strconv.ParseUint(text, base, 32)
	if err != nil {
		panic(err)
	}
	return uint32(n)
}
