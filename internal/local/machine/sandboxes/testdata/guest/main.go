// Command guest is the program in the pods of the tests. Its first argument is the name of an action.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "guest: name an action")
		os.Exit(2)
	}
	action, ok := actions[os.Args[1]]
	if !ok {
		fmt.Fprintln(os.Stderr, "guest: unknown action", os.Args[1])
		os.Exit(2)
	}
	if err := action(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}

var actions = map[string]func([]string) error{
	"exit":   func(args []string) error { code, _ := strconv.Atoi(args[0]); os.Exit(code); return nil },
	"facts":  facts,
	"serve":  serve,
	"get":    get,
	"cat":    func([]string) error { _, err := io.Copy(os.Stdout, os.Stdin); return err },
	"read":   read,
	"write":  write,
	"list":   list,
	"chown":  func(args []string) error { return os.Chown(args[0], 999, 998) },
	"swap":   swap,
	"wait":   wait,
	"trap":   trap,
	"eat":    eat,
	"fork":   fork,
	"flood":  flood,
	"files":  files,
	"tty":    tty,
	"ps":     ps,
	"orphan": orphan,
	"attack": attack,
}

// facts prints what the process knows about itself.
func facts([]string) error {
	host, _ := os.Hostname()
	dir, _ := os.Getwd()
	groups, _ := os.Getgroups()
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	status, _ := os.ReadFile("/proc/self/status")
	caps := ""
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps = strings.TrimSpace(rest)
		}
	}
	resolv, _ := os.ReadFile("/etc/resolv.conf")
	fmt.Printf("host=%s cwd=%s uid=%d gid=%d groups=%v nofile=%d caps=%s A=%s resolv=%q\n", host, dir, os.Getuid(), os.Getgid(), groups, limit.Cur, caps, os.Getenv("A"), resolv)
	addresses, _ := net.InterfaceAddrs()
	fmt.Println("addresses:", addresses)
	return nil
}

// serve answers HTTP requests on a loopback port.
func serve(args []string) error {
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("serving")
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello from the other container") }))
}

func get(args []string) error {
	response, err := http.Get(args[0])
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

func read(args []string) error {
	data, err := os.ReadFile(args[0])
	fmt.Printf("%s", data)
	return err
}

// write writes a text, or with a third argument that many zero bytes, to a file.
func write(args []string) error {
	data := []byte(args[1])
	if len(args) > 2 {
		n, _ := strconv.Atoi(args[2])
		data = make([]byte, n)
	}
	return os.WriteFile(args[0], data, 0o644)
}

func list(args []string) error {
	entries, err := os.ReadDir(args[0])
	for _, entry := range entries {
		fmt.Println(entry.Name())
	}
	return err
}

// swap replaces a folder by a link and back, without end. The link leads to another folder of the machine.
func swap(args []string) error {
	folder, link := args[0], args[0]+"-link"
	if err := os.Symlink(args[1], link); err != nil {
		return err
	}
	fmt.Println("swapping")
	for {
		if err := os.Rename(folder, folder+"-away"); err != nil {
			return err
		}
		if err := os.Rename(link, folder); err != nil {
			return err
		}
		if err := os.Rename(folder, link); err != nil {
			return err
		}
		if err := os.Rename(folder+"-away", folder); err != nil {
			return err
		}
	}
}

// wait prints a line and waits for ever.
func wait([]string) error {
	fmt.Println("waiting")
	return forever()
}

// forever returns after a day. The runtime would take an empty select for a deadlock.
func forever() error {
	<-time.NewTimer(24 * time.Hour).C
	return nil
}

// trap prints a line and ends with code 7 on SIGTERM.
func trap([]string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	fmt.Println("trapping")
	fmt.Println(<-signals)
	os.Exit(7)
	return nil
}

// eat uses memory in megabytes, and then waits for ever.
func eat(args []string) error {
	megabytes, _ := strconv.Atoi(args[0])
	var kept [][]byte
	for range megabytes {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		kept = append(kept, block)
	}
	fmt.Println("ate", len(kept))
	return forever()
}

// fork starts processes until that fails, and prints their number.
func fork([]string) error {
	self, _ := os.Executable()
	for n := 0; ; n++ {
		if err := exec.Command(self, "wait").Start(); err != nil {
			fmt.Println("started", n, err)
			return forever()
		}
		if n == 500 {
			return errors.New("500 processes were started")
		}
	}
}

// flood prints without end.
func flood([]string) error {
	block := []byte(strings.Repeat("flood ", 1000))
	for {
		if _, err := os.Stdout.Write(block); err != nil {
			return err
		}
	}
}

// files opens files until that fails.
func files([]string) error {
	for n := 0; ; n++ {
		if _, err := os.Open("/"); err != nil {
			fmt.Println("opened", n, err)
			return nil
		}
	}
}

// tty prints the size of the terminal, now and after each line that it reads.
func tty([]string) error {
	lines := bufio.NewScanner(os.Stdin)
	for {
		var size [4]uint16
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 1, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
			return errno
		}
		fmt.Printf("size %dx%d\n", size[1], size[0])
		if !lines.Scan() || lines.Text() == "quit" {
			return lines.Err()
		}
	}
}

// ps prints the names of all processes.
func ps([]string) error {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		fmt.Printf("%s %s\n", strings.Split(path, "/")[2], strings.ReplaceAll(strings.TrimRight(string(data), "\x00"), "\x00", " "))
	}
	return nil
}

// orphan starts a process that holds the standard streams, and ends.
func orphan([]string) error {
	self, _ := os.Executable()
	child := exec.Command(self, "wait")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child.Start()
}

// attack tries what a container must not be able to do, and prints what succeeded.
func attack([]string) error {
	tries := map[string]func() error{
		"mount": func() error { return syscall.Mount("tmpfs", "/tmp", "tmpfs", 0, "") },
		"raw socket": func() error {
			_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP)
			return err
		},
		"packet socket": func() error {
			_, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0)
			return err
		},
		"more processes": func() error { return os.WriteFile("/sys/fs/cgroup/pids/pids.max", []byte("max"), 0) },
		"host name":      func() error { return os.WriteFile("/proc/sys/kernel/hostname", []byte("x"), 0) },
		"disk": func() error {
			// gVisor creates the file, and has no device behind it.
			_ = syscall.Mknod("/tmp/disk", syscall.S_IFBLK|0o600, 8<<8)
			_, err := os.ReadFile("/tmp/disk")
			return err
		},
	}
	for name, try := range tries {
		if err := try(); err == nil {
			fmt.Println("succeeded:", name)
		}
	}
	entries, _ := os.ReadDir("/dev")
	for _, entry := range entries {
		fmt.Print(entry.Name(), " ")
	}
	fmt.Println()
	return nil
}
