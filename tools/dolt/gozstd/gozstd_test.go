package gozstd

import (
	"bytes"
	"fmt"
	"math/rand"
	"sync"
	"testing"

	kdict "github.com/klauspost/compress/dict"
)

func TestRoundTrip(t *testing.T) {
	samples := rows(1000)
	dicts := map[string][]byte{
		"no dictionary":           nil,
		"a raw dictionary":        BuildDict(samples, 4096),
		"a structured dictionary": structured(t, samples),
		"a dictionary too short":  []byte("short"),
	}
	sources := map[string][]byte{
		"nothing":                  nil,
		"a byte":                   {7},
		"a sample":                 samples[3],
		"other rows":               bytes.Join(rows(1100)[1000:], nil),
		"noise":                    noise(10_000),
		"one byte again and again": make([]byte, 100_000),
		"more than the window":     bytes.Join([][]byte{noise(window), bytes.Join(samples, nil), noise(window)}, nil),
	}
	for name, dict := range dicts {
		t.Run("with "+name, func(t *testing.T) {
			cdict, ddict := open(t, dict)
			for name, source := range sources {
				t.Run(name+" comes back", func(t *testing.T) {
					checkRoundTrip(t, source, cdict, ddict)
				})
			}
		})
	}
}

func TestGoroutinesShareACoder(t *testing.T) {
	samples := rows(500)
	cdict, ddict := open(t, BuildDict(samples, 4096))
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for _, sample := range samples {
				checkRoundTrip(t, sample, cdict, ddict)
			}
		})
	}
	running.Wait()
}

func TestADictionaryShortensSimilarTexts(t *testing.T) {
	all := rows(1200)
	samples, others := all[:1000], all[1000:]
	dict := BuildDict(samples, 4096)
	if len(dict) == 0 || len(dict) > 4096 {
		t.Fatalf("the dictionary has %d bytes, want 1 to 4096", len(dict))
	}
	cdict, _ := open(t, dict)
	var with, without int
	for _, other := range others {
		with += len(CompressDict(nil, other, cdict))
		without += len(Compress(nil, other))
	}
	if with*10 > without*8 {
		t.Errorf("with a dictionary the rows have %d bytes, without %d; want less than 80 %% of it", with, without)
	}
}

func TestADictionaryContainsACommonTextInOnePiece(t *testing.T) {
	common := noise(1000)
	var samples [][]byte
	for i := range 30 {
		samples = append(samples, fmt.Appendf(nil, "sample %d %s", i, common))
	}
	if dict := BuildDict(samples, 2048); !bytes.Contains(dict, common) {
		t.Errorf("the dictionary has %d bytes without the common text", len(dict))
	}
}

func TestBuildDictTakesAnySamples(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples [][]byte
		none    bool
	}{
		{name: "none", none: true},
		{name: "empty ones", samples: [][]byte{{}, {}}, none: true},
		{name: "too little", samples: [][]byte{[]byte("ab"), []byte("cd")}, none: true},
		{name: "just enough", samples: [][]byte{[]byte("abcd"), []byte("efgh")}},
		{name: "the same again and again", samples: repeat(rows(1)[0], 100)},
		{name: "one byte again and again", samples: repeat(make([]byte, 500), 30)},
		{name: "noise", samples: [][]byte{noise(20_000)}},
		{name: "a text that begins like a structured dictionary", samples: [][]byte{[]byte(dictMagic + "but is none")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dict := BuildDict(test.samples, 4096)
			if test.none {
				if dict != nil {
					t.Errorf("the dictionary is %q, want none", dict)
				}
				return
			}
			if len(dict) == 0 || len(dict) > 4096 {
				t.Fatalf("the dictionary has %d bytes, want 1 to 4096", len(dict))
			}
			cdict, ddict := open(t, dict)
			for _, sample := range test.samples {
				checkRoundTrip(t, sample, cdict, ddict)
			}
		})
	}
}

func TestInvalidInputIsAnError(t *testing.T) {
	sample := rows(1)[0]
	cdict, _ := open(t, BuildDict(repeat(sample, 100), 4096))
	packed := CompressDict(nil, sample, cdict)
	for name, src := range map[string][]byte{
		"noise":                          noise(100),
		"half a frame":                   packed[:len(packed)/2],
		"a frame without its dictionary": packed,
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := Decompress([]byte("before"), src); err == nil || string(out) != "before" {
				t.Errorf("Decompress returns %q, %v; want an error and the previous content", out, err)
			}
		})
	}
	for name, dict := range map[string][]byte{"an empty dictionary": {}, "a broken dictionary": []byte(dictMagic + "broken")} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewCDict(dict); err == nil {
				t.Error("NewCDict accepts it")
			}
			if _, err := NewDDict(dict); err == nil {
				t.Error("NewDDict accepts it")
			}
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte(nil), []byte(nil))
	f.Add(rows(1)[0], bytes.Join(rows(40), nil))
	f.Add([]byte("more"), []byte(dictMagic+dictMagic))
	f.Fuzz(func(t *testing.T, source, sampled []byte) {
		checkRoundTrip(t, source, nil, nil)
		var samples [][]byte
		for part := range bytes.SplitSeq(sampled, []byte("\n")) {
			samples = append(samples, part)
		}
		dict := BuildDict(samples, 1024)
		if dict == nil {
			return
		}
		cdict, ddict := open(t, dict)
		checkRoundTrip(t, source, cdict, ddict)
		checkRoundTrip(t, sampled, cdict, ddict)
	})
}

func FuzzDecompress(f *testing.F) {
	_, ddict := open(f, BuildDict(rows(100), 1024))
	f.Add(Compress(nil, rows(1)[0]))
	f.Fuzz(func(_ *testing.T, src []byte) {
		_, _ = DecompressDict(nil, src, ddict) // does not panic
	})
}

// open returns a dictionary for both directions. Nil means no dictionary.
func open(t testing.TB, dict []byte) (*CDict, *DDict) {
	t.Helper()
	if dict == nil {
		return nil, nil
	}
	cdict, err := NewCDict(dict)
	if err != nil {
		t.Fatal(err)
	}
	ddict, err := NewDDict(dict)
	if err != nil {
		t.Fatal(err)
	}
	return cdict, ddict
}

// checkRoundTrip compresses and decompresses into buffers with content.
func checkRoundTrip(t *testing.T, source []byte, cdict *CDict, ddict *DDict) {
	t.Helper()
	packed := CompressDict([]byte("head"), source, cdict)
	if !bytes.HasPrefix(packed, []byte("head")) {
		t.Fatalf("the compressed data does not follow the previous content")
	}
	got, err := DecompressDict([]byte("before"), packed[len("head"):], ddict)
	if err != nil {
		t.Fatal(err)
	}
	if want := append([]byte("before"), source...); !bytes.Equal(got, want) {
		t.Fatalf("the result of %d bytes are %d other bytes", len(want), len(got))
	}
}

// structured returns a dictionary with entropy tables, like those of the C library's trainer.
func structured(t *testing.T, samples [][]byte) []byte {
	t.Helper()
	dict, err := kdict.BuildZstdDict(samples, kdict.Options{MaxDictSize: 4096, HashBytes: 6, ZstdDictID: 7})
	if err != nil {
		t.Fatal(err)
	}
	return dict
}

// rows returns similar texts.
func rows(n int) [][]byte {
	source := rand.New(rand.NewSource(1))
	var out [][]byte
	for i := range n {
		out = append(out, fmt.Appendf(nil, `{"id":%d,"author":"author-%d","status":"published","title":"Post %x","kind":"page"}`,
			i, source.Intn(20), source.Int63()))
	}
	return out
}

func repeat(sample []byte, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = sample
	}
	return out
}

func noise(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.New(rand.NewSource(2)).Read(out)
	return out
}
