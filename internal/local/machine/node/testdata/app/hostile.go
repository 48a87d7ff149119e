package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// hostile runs the behaviours of pods that try to use up the machine. They end only by a limit of the pod.
func hostile(args []string) error {
	switch args[0] {
	case "fork": // starts processes for ever; each process does the same
		for {
			child := exec.Command("/app", "fork")
			if err := child.Start(); err == nil {
				go child.Wait()
			}
		}
	case "fill": // writes to a file until an error, and succeeds if there is one
		f, err := os.Create(args[1])
		if err != nil {
			return err
		}
		block := make([]byte, 1<<20)
		for written := 0; ; written++ {
			if _, err := f.Write(block); err != nil {
				fmt.Println("full after", written, "MB:", err)
				return nil
			}
		}
	case "print": // prints for ever
		line := []byte(strings.Repeat("0123456789abcdef", 64) + "\n")
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return err
			}
		}
	case "connect": // opens a number of connections to an address, and keeps them
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		var open []net.Conn
		for range n {
			c, err := net.Dial("tcp", args[1])
			if err != nil {
				fmt.Println("refused after", len(open), "connections:", err)
				break
			}
			open = append(open, c)
		}
		fmt.Println("holds", len(open), "connections")
		select {}
	}
	return errors.New("the app cannot " + args[0])
}
