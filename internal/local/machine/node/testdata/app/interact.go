package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// interact runs the behaviours that the tests of exec, attach, cp and port-forward use.
func interact(args []string) (known bool, err error) {
	if filepath.Base(os.Args[0]) == "tar" {
		return true, archive(args)
	}
	switch args[0] {
	case "hold": // does nothing until SIGTERM
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		<-asked
	case "sum": // prints the size and the checksum of its input
		hash := sha256.New()
		n, err := io.Copy(hash, os.Stdin)
		fmt.Printf("%d %x\n", n, hash.Sum(nil))
		return true, err
	case "flood": // prints a number of bytes: all values of a byte, again and again
		return true, flood(args[1])
	case "both": // prints a text to each of its outputs
		fmt.Fprint(os.Stdout, args[1])
		fmt.Fprint(os.Stderr, args[2])
	case "sizes": // prints each size of its terminal until its input ends
		sizes()
	case "lines": // answers each line of its input with the line, until "bye"
		lines()
	case "processes": // prints the command lines of all processes that it sees
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			raw, _ := os.ReadFile(file)
			fmt.Printf("%s\n", bytes.ReplaceAll(raw, []byte{0}, []byte{' '}))
		}
	case "whole": // serves TCP: answers with the size and the checksum of all that a client sends
		return true, whole(args[1])
	default:
		return false, nil
	}
	return true, nil
}

func flood(size string) error {
	left, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = byte(i)
	}
	for left > 0 {
		n, err := os.Stdout.Write(block[:min(left, len(block))])
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

func sizes() {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for {
		var size struct{ rows, columns, x, y uint16 }
		syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
		fmt.Printf("%dx%d\n", size.columns, size.rows)
		select {
		case <-changed:
		case <-ended:
			return
		}
	}
}

func lines() {
	fmt.Println("ready")
	var line string
	for line != "bye" {
		if _, err := fmt.Scanln(&line); err != nil {
			fmt.Println("the input ended:", err)
			return
		}
		fmt.Println("got", line)
	}
}

func whole(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving")
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			hash := sha256.New()
			n, _ := io.Copy(hash, conn)
			fmt.Fprintf(conn, "%d %x", n, hash.Sum(nil))
		}()
	}
}

// archive is the part of tar that kubectl cp uses: `tar cf - PATH` and `tar -xmf - -C FOLDER`.
func archive(args []string) error {
	if args[0] == "cf" {
		w := tar.NewWriter(os.Stdout)
		return errors.Join(filepath.WalkDir(args[2], func(path string, d fs.DirEntry, err error) error { return pack(w, path, d, err) }), w.Close())
	}
	folder := "."
	if len(args) > 3 {
		folder = args[3]
	}
	for r := tar.NewReader(os.Stdin); ; {
		header, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(folder, header.Name)
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			continue
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, r); err != nil {
			return err
		}
		f.Close()
	}
}

func pack(w *tar.Writer, path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	header, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	header.Name = strings.TrimPrefix(path, "/")
	if err := w.WriteHeader(header); err != nil || d.IsDir() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
