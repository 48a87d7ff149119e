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

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest/load"
)

// patience bounds each attempt of the network's tests.
const patience = 5 * time.Second

// do performs what the query of a request asks for in the pod's network. It returns false if the query asks for nothing.
func do(w http.ResponseWriter, r *http.Request) bool {
	for what, perform := range map[string]func(string) (string, error){
		"get": get, "pour": pour, "requests": requests, "connections": connections, "lookup": lookup, "udp": askUDP, "dial": dial, "env": func(name string) (string, error) { return os.Getenv(name), nil },
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

// sink reads the connections at an address to their end.
func sink(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go load.Sink(l)
	return nil
}

// seconds returns a time in seconds.
func seconds(took time.Duration, err error) (string, error) { return fmt.Sprint(took.Seconds()), err }

func pour(address string) (string, error) { return seconds(load.Gigabit(address)) }

// requests sends requests over connections that stay open, and connections over one for each request.
func requests(address string) (string, error) { return seconds(load.Requests(address, load.PerClient)) }

func connections(address string) (string, error) { return seconds(load.Requests(address, 1)) }

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
