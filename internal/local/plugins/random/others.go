package random

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc64"
	"math/big"
	mathrand "math/rand"
	"strconv"
	"strings"

	"github.com/google/uuid"
	sdk "github.com/pulumi/pulumi-random/sdk/v4/go/random"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

type idArgs struct {
	ByteLength int               `json:"byteLength"`
	Keepers    map[string]string `json:"keepers,omitempty"`
	Prefix     string            `json:"prefix,omitempty"`
}

type idState struct {
	idArgs
	B64Std string `json:"b64Std"`
	B64Url string `json:"b64Url"`
	Dec    string `json:"dec"`
	Hex    string `json:"hex"`
}

func randomID() frame.Resource {
	type request = frame.Request[idArgs, idState]
	return frame.Resource{
		Args:  sdk.RandomIdArgs{},
		State: sdk.RandomId{},
		Rules: rules.ByPath{"byteLength": {Replace: true, Range: rules.AtLeast(1)}, "keepers": {Replace: true}, "prefix": {Replace: true}},
		Operations: frame.Handle(frame.CRUD[idArgs, idState]{
			Create: func(_ context.Context, r request) (string, idState, error) {
				value := make([]byte, r.Args.ByteLength)
				_, _ = rand.Read(value) // never fails
				return base64.RawURLEncoding.EncodeToString(value), idOf(r.Args, value), nil
			},
			Read: func(_ context.Context, r request) (string, idState, error) {
				if !r.Importing {
					return r.ID, r.State, nil
				}
				prefix, id, ok := cutLast(r.ID, ",")
				if !ok {
					prefix, id = "", r.ID
				}
				value, err := base64.RawURLEncoding.DecodeString(id)
				if err != nil {
					return "", idState{}, fmt.Errorf("import ID must be [prefix,]base64url: %w", err)
				}
				return id, idOf(idArgs{ByteLength: len(value), Prefix: prefix}, value), nil
			},
		}),
	}
}

func idOf(args idArgs, value []byte) idState {
	return idState{
		idArgs: args,
		B64Std: args.Prefix + base64.StdEncoding.EncodeToString(value),
		B64Url: args.Prefix + base64.RawURLEncoding.EncodeToString(value),
		Dec:    args.Prefix + new(big.Int).SetBytes(value).String(),
		Hex:    args.Prefix + hex.EncodeToString(value),
	}
}

type integerArgs struct {
	Keepers map[string]string `json:"keepers,omitempty"`
	Max     int               `json:"max"`
	Min     int               `json:"min"`
	Seed    *string           `json:"seed,omitempty"`
}

type integerState struct {
	integerArgs
	Result int `json:"result"`
}

func integer() frame.Resource {
	type request = frame.Request[integerArgs, integerState]
	return frame.Resource{
		Args:  sdk.RandomIntegerArgs{},
		State: sdk.RandomInteger{},
		Rules: rules.ByPath{}.Each(rules.Rule{Replace: true}, "keepers max min seed"),
		Operations: frame.Handle(frame.CRUD[integerArgs, integerState]{
			Create: func(_ context.Context, r request) (string, integerState, error) {
				if r.Args.Max < r.Args.Min {
					return "", integerState{}, fmt.Errorf("min must not be greater than max: %d > %d", r.Args.Min, r.Args.Max)
				}
				span := r.Args.Max - r.Args.Min + 1
				result := r.Args.Min
				if r.Args.Seed != nil && *r.Args.Seed != "" {
					// The official provider uses this source, so a seed yields the same number on both targets.
					source := int64(crc64.Checksum([]byte(*r.Args.Seed), crc64.MakeTable(crc64.ISO)))
					result += mathrand.New(mathrand.NewSource(source)).Intn(span)
				} else {
					result += below(span)
				}
				return strconv.Itoa(result), integerState{r.Args, result}, nil
			},
			Read: func(_ context.Context, r request) (string, integerState, error) {
				if !r.Importing {
					return r.ID, r.State, nil
				}
				return importInteger(r.ID)
			},
		}),
	}
}

func importInteger(id string) (string, integerState, error) {
	parts := strings.Split(id, ",")
	if len(parts) != 3 && len(parts) != 4 {
		return "", integerState{}, fmt.Errorf("import ID %q must be result,min,max[,seed]", id)
	}
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(parts[i]); err != nil {
			return "", integerState{}, fmt.Errorf("import ID %q must be result,min,max[,seed]: %w", id, err)
		}
	}
	state := integerState{integerArgs{Min: n[1], Max: n[2]}, n[0]}
	if len(parts) == 4 {
		state.Seed = &parts[3]
	}
	return parts[0], state, nil
}

type petArgs struct {
	Keepers   map[string]string `json:"keepers,omitempty"`
	Length    int               `json:"length"`
	Prefix    string            `json:"prefix,omitempty"`
	Separator string            `json:"separator"`
}

func pet() frame.Resource {
	type request = frame.Request[petArgs, petArgs]
	return frame.Resource{
		Args:  sdk.RandomPetArgs{},
		State: sdk.RandomPet{},
		Rules: rules.ByPath{
			"keepers": {Replace: true}, "prefix": {Replace: true},
			"length": {Replace: true, Default: 2}, "separator": {Replace: true, Default: "-"},
		},
		Operations: frame.Handle(frame.CRUD[petArgs, petArgs]{
			Create: func(_ context.Context, r request) (string, petArgs, error) {
				words := petWords(r.Args.Length)
				if r.Args.Prefix != "" {
					words = append([]string{r.Args.Prefix}, words...)
				}
				return strings.Join(words, r.Args.Separator), r.Args, nil
			},
			Read: func(_ context.Context, r request) (string, petArgs, error) {
				if r.Importing {
					return "", petArgs{}, errors.New("a pet name cannot be imported: create a new one, or write the name in the program")
				}
				return r.ID, r.State, nil
			},
		}),
	}
}

// petWords returns n words: adverbs, then an adjective, then an animal. The lists are shorter than the official provider's.
func petWords(n int) []string {
	adverbs := strings.Fields("boldly calmly deeply fairly gladly highly kindly lately mostly neatly purely quietly rarely surely truly vastly")
	adjectives := strings.Fields("able brave calm deep eager fair glad humble ideal jolly keen loyal merry noble proud quick ready solid tidy wise")
	animals := strings.Fields("ant bear crane deer eagle finch goat hare ibex jay koala lynx mole newt otter pony quail raven seal toad wren yak")
	words := make([]string, 0, max(n, 0))
	for i := n; i > 0; i-- {
		list := adverbs
		switch i {
		case 1:
			list = animals
		case 2:
			list = adjectives
		}
		words = append(words, list[below(len(list))])
	}
	return words
}

type uuidArgs struct {
	Keepers map[string]string `json:"keepers,omitempty"`
}

type uuidState struct {
	uuidArgs
	Result string `json:"result"`
}

func randomUUID() frame.Resource {
	type request = frame.Request[uuidArgs, uuidState]
	return frame.Resource{
		Args:  sdk.RandomUuidArgs{},
		State: sdk.RandomUuid{},
		Rules: rules.ByPath{"keepers": {Replace: true}},
		Operations: frame.Handle(frame.CRUD[uuidArgs, uuidState]{
			Create: func(_ context.Context, r request) (string, uuidState, error) {
				result, err := uuid.NewRandom()
				if err != nil {
					return "", uuidState{}, fmt.Errorf("generate a UUID: %w", err)
				}
				return result.String(), uuidState{r.Args, result.String()}, nil
			},
			Read: func(_ context.Context, r request) (string, uuidState, error) {
				if !r.Importing {
					return r.ID, r.State, nil
				}
				result, err := uuid.Parse(r.ID)
				if err != nil {
					return "", uuidState{}, fmt.Errorf("import ID %q must be a UUID: %w", r.ID, err)
				}
				return result.String(), uuidState{Result: result.String()}, nil
			},
		}),
	}
}

// below returns a random number in [0, n).
func below(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		panic(fmt.Sprintf("read random numbers: %v", err)) // crypto/rand never fails
	}
	return int(i.Int64())
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
