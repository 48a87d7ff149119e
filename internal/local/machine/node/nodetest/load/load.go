// Package load loads the network of pods for benchmarks: as clients of servers that read what a connection sends, or answer
// HTTP requests. The clients are as simple as those of iperf3 and wrk, so that the network takes most of the time.
package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// patience bounds the opening of a connection.
	patience = 5 * time.Second
	// chunk is the size, in bytes, of a read or a write.
	chunk = 256 << 10
	// gigabit is a number of bytes.
	gigabit = 1e9 / 8
	// all is the number of requests, and clients the number of clients that share them.
	all, clients = 2000, 8
)

// PerClient is the number of requests of each client of Requests.
const PerClient = all / clients

// Sink reads the connections of a listener to their end, until the listener is closed.
func Sink(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			buffer := make([]byte, chunk)
			for err := error(nil); err == nil; {
				_, err = conn.Read(buffer)
			}
		}()
	}
}

// Gigabit sends a gigabit to a Sink at an address, and returns the time until the Sink has read all of it.
func Gigabit(address string) (time.Duration, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	began, buffer := time.Now(), make([]byte, chunk)
	for left := int(gigabit); left > 0; left -= chunk {
		if _, err := conn.Write(buffer[:min(left, chunk)]); err != nil {
			return 0, err
		}
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return 0, err
	}
	if _, err := io.ReadAll(conn); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// Requests sends 2000 HTTP requests to an address from eight clients, each up to `most` of them over a connection, and
// returns the time until all are answered.
func Requests(address string, most int) (time.Duration, error) {
	ended := make(chan error, clients)
	began := time.Now()
	for range clients {
		go func() {
			var err error
			for left := PerClient; left > 0 && err == nil; left -= most {
				err = converse(address, min(most, left))
			}
			ended <- err
		}()
	}
	var errs []error
	for range clients {
		errs = append(errs, <-ended)
	}
	return time.Since(began), errors.Join(errs...)
}

// converse sends requests over one connection, and reads each answer.
func converse(address string, requests int) error {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for range requests {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: web\r\n\r\n"); err != nil {
			return err
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("the server answers %s", answer.Status)
		}
	}
	return nil
}
