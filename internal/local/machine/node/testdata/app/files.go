package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// files runs operations, such as "write PATH TEXT", and prints each with its result.
func files(operations []string) error {
	for _, operation := range operations {
		result, err := file(strings.Fields(operation))
		if err != nil {
			result = err.Error()
			if at := strings.LastIndex(result, ": "); at >= 0 {
				result = result[at+2:]
			}
		}
		fmt.Printf("%s: %s\n", operation, result)
	}
	return nil
}

func file(words []string) (string, error) {
	path := words[len(words)-1]
	if len(words) > 1 {
		path = words[1]
	}
	switch words[0] {
	case "write":
		return "ok", os.WriteFile(path, []byte(strings.Join(words[2:], " ")), 0o644)
	case "read":
		content, err := os.ReadFile(path)
		return strings.TrimSpace(string(content)), err
	case "mkdir":
		return "ok", os.MkdirAll(path, 0o755)
	case "link": // link PATH TARGET
		return "ok", os.Symlink(words[2], path)
	case "chown":
		uid, _ := strconv.Atoi(words[2])
		return "ok", os.Chown(path, uid, uid)
	case "stat":
		var s syscall.Stat_t
		err := syscall.Stat(path, &s)
		return fmt.Sprintf("%d:%d %o", s.Uid, s.Gid, s.Mode&0o7777), err
	case "size": // of a file system in MiB
		var s syscall.Statfs_t
		err := syscall.Statfs(path, &s)
		return fmt.Sprint(int64(s.Blocks) * s.Bsize >> 20), err
	case "fill": // fill PATH MiB
		return fill(path, words[2])
	case "many": // many PATH COUNT
		count, _ := strconv.Atoi(words[2])
		began := time.Now()
		for i := range count {
			if err := os.WriteFile(fmt.Sprintf("%s/%d", path, i), nil, 0o644); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%d files in %s", count, time.Since(began).Round(time.Millisecond)), nil
	case "await": // await PATH TEXT
		want := strings.Join(words[2:], " ")
		for {
			if content, err := os.ReadFile(path); err == nil && string(content) == want {
				return "ok", nil
			}
			<-time.After(50 * time.Millisecond)
		}
	case "again": // fails the first time, and leaves a file that tells so
		if _, err := os.Stat(path); err == nil {
			return "ok", nil
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return "", err
		}
		os.Exit(3)
	case "fail":
		os.Exit(3)
	case "wait":
		fmt.Println("waiting")
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		<-asked
		return "ok", nil
	}
	return "", fmt.Errorf("unknown operation %s", words[0])
}

// fill writes zeros to a file, and returns how long it took.
func fill(path, mebibytes string) (string, error) {
	count, _ := strconv.Atoi(mebibytes)
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	block, began := make([]byte, 1<<20), time.Now()
	for range count {
		if _, err := f.Write(block); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d MiB in %s", count, time.Since(began).Round(time.Millisecond)), nil
}
