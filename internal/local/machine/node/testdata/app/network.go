package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// patience bounds each attempt of the network's tests.
const patience = 5 * time.Second

// do performs what the query of a request asks for in the pod's network. It returns false if the query asks for nothing.
func do(w http.ResponseWriter, r *http.Request) bool {
	for what, perform := range map[string]func(string) (string, error){
		"get": get, "pour": pour, "requests": requests, "lookup": lookup, "udp": askUDP, "dial": dial, "env": func(name string) (string, error) { return os.Getenv(name), nil },
	} {
		if !r.URL.Query().Has(what) {
			continue
		}
		text, err := perform(r.URL.Query().Get(what))
		if err != nil {
			text = "failed: " + err.Error()
		}
		fmt.Fprint(w, text)
		return true
	}
	return false
}

// get returns what a URL answers.
func get(url string) (string, error) {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

func lookup(name string) (string, error) {
	found, err := net.LookupHost(name)
	slices.Sort(found)
	return strings.Join(found, " "), err
}

func dial(address string) (string, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return "", err
	}
	return "open", conn.Close()
}

// gigabit is a number of bytes.
const gigabit = 1e9 / 8

// pour sends a gigabit to an address, and returns the seconds until the other end has read all of it.
func pour(address string) (string, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	began, chunk := time.Now(), make([]byte, 256<<10)
	for sent := 0; sent < gigabit; sent += len(chunk) {
		if _, err := conn.Write(chunk); err != nil {
			return "", err
		}
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return "", err
	}
	_, err = io.ReadAll(conn)
	return fmt.Sprint(time.Since(began).Seconds()), err
}

// sink reads the connections at an address to their end.
func sink(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return nil
}

// requests sends 2000 requests to a URL, from eight clients that keep their connections, and returns the seconds.
func requests(url string) (string, error) {
	const all, clients = 2000, 8
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	failed := make(chan error, clients)
	began := time.Now()
	for range clients {
		go func() {
			for range all / clients {
				answer, err := client.Get(url)
				if err == nil {
					_, err = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
				if err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range clients {
		if err := <-failed; err != nil {
			return "", err
		}
	}
	return fmt.Sprint(time.Since(began).Seconds()), nil
}

// askUDP sends a packet to an address, and returns the answer.
func askUDP(address string) (string, error) {
	conn, err := net.DialTimeout("udp", address, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		return "", err
	}
	answer := make([]byte, 1024)
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// serveUDP answers each packet with the pod's name and the packet.
func serveUDP(address string) error {
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	name, _ := os.Hostname()
	go func() {
		packet := make([]byte, 1024)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(name+" answers "+string(packet[:n])), from)
		}
	}()
	return nil
}

// serveWebhook denies every request of the API server.
func serveWebhook(address, certificate, key string) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": map[string]any{"uid": review.Request.UID, "allowed": false, "status": map[string]any{"message": "the pod says no"}},
		})
	}))
}
