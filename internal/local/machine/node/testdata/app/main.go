// Command app is the program in the image of the tests' sandboxed pods. Its first argument selects the behaviour.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch args[0] {
	case "serve": // serves HTTP at an address until SIGTERM
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		l, err := net.Listen("tcp", args[1])
		if err != nil {
			return err
		}
		go http.Serve(l, http.HandlerFunc(answer))
		fmt.Println("serving")
		<-asked
		fmt.Println("goodbye")
	case "serve-udp": // serves UDP at an address, and HTTP at another until SIGTERM
		if err := serveUDP(args[1]); err != nil {
			return err
		}
		return run([]string{"serve", args[2]})
	case "sink": // reads connections at an address, and serves HTTP at another until SIGTERM
		if err := sink(args[1]); err != nil {
			return err
		}
		return run([]string{"serve", args[2]})
	case "webhook": // serves an admission webhook at an address with a certificate
		return serveWebhook(args[1], args[2], args[3])
	case "get": // prints what a URL answers
		answer, err := http.Get(args[1])
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(os.Stdout, answer.Body)
		return err
	case "cat":
		for _, name := range args[1:] {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Printf("%s", content)
		}
	case "write":
		return os.WriteFile(args[1], []byte(args[2]), 0o644)
	case "say":
		fmt.Println(strings.Join(args[1:], " "))
	case "id":
		groups, err := os.Getgroups()
		fmt.Println(os.Getuid(), os.Getgid(), groups)
		return err
	case "echo": // copies its input to its output
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "exit":
		code, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		os.Exit(code)
	case "eat": // uses a number of MiB of memory
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		var all [][]byte
		for range n {
			block := make([]byte, 1<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			all = append(all, block)
		}
		fmt.Println(len(all))
		select {}
	case "files": // runs operations on files and prints their results
		return files(args[1:])
	default:
		return hostile(args)
	}
	return nil
}

// answer answers with the pod's name, or with the content of a file.
func answer(w http.ResponseWriter, r *http.Request) {
	if do(w, r) {
		return
	}
	if name := r.URL.Query().Get("file"); name != "" {
		http.ServeFile(w, r, name)
		return
	}
	name, _ := os.Hostname()
	fmt.Fprintf(w, "%s answers %s", name, r.RemoteAddr)
}
