package ledgercmd

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/strata-platform/strata/internal/ledger"
	"github.com/strata-platform/strata/internal/ledger/query"
	"github.com/strata-platform/strata/internal/ledger/receipt"
)

// fill sets every text below a value to a hostile one, and fills pointers, lists and maps with one element.
func fill(v reflect.Value, hostile string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), hostile)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), hostile)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, hostile)
			}
		}
	case reflect.Int:
		v.SetInt(1)
	}
}

// TestHostileTextsAreEscapedAndBounded prints answers in which every text is hostile, as in a ledger that somebody has changed.
func TestHostileTextsAreEscapedAndBounded(t *testing.T) {
	hostile := "a\x1b[2J\u202eb\nc\r" + strings.Repeat("x", 5000)
	var answer query.Answer
	fill(reflect.ValueOf(&answer).Elem(), hostile)
	var write query.Answer
	fill(reflect.ValueOf(&write).Elem(), hostile)
	write.Made.Call = nil
	var h History
	for _, kind := range []func(*query.Entry){
		func(e *query.Entry) { e.Push = &query.Push{} }, func(e *query.Entry) { e.Run = &query.Run{} },
		func(e *query.Entry) { e.Call = &query.Call{} }, func(e *query.Entry) { e.Write = &query.Write{} },
	} {
		var e, empty query.Entry
		fill(reflect.ValueOf(&e).Elem(), hostile)
		kind(&empty)
		one := query.Entry{}
		switch {
		case empty.Push != nil:
			one.Push = e.Push
			one.Push.Updates = append(one.Push.Updates, receipt.Update{Ref: hostile})
		case empty.Run != nil:
			one.Run = e.Run
			one.Run.Counts = map[string]int{hostile: 1}
		case empty.Call != nil:
			one.Call = e.Call
		default:
			one.Write = e.Write
		}
		h.Entries = append(h.Entries, one)
	}
	v := Verification{Verified: ledger.Verified{Problems: []ledger.Problem{{Chain: hostile, Seq: 1, File: hostile, Line: 1, Message: hostile}}}}
	for name, print := range map[string]func(io.Writer) error{
		"why":        func(w io.Writer) error { return printAnswer(w, answer) },
		"why Secret": func(w io.Writer) error { return printAnswer(w, write) },
		"history":    func(w io.Writer) error { return printHistory(w, &h) },
		"verify":     func(w io.Writer) error { return printVerification(w, v) },
	} {
		var out bytes.Buffer
		if err := print(&out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if len([]rune(line)) > 3000 || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s prints the line %.2000q", name, line)
			}
		}
	}
}
