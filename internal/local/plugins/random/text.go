package random

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"golang.org/x/crypto/bcrypt"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

const (
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits    = "0123456789"
	specials  = "!@#$%&*()-_=+[]{}<>:?"

	// bcryptLimit is the number of bytes of a password that bcrypt can hash.
	bcryptLimit = 72
	// passwordID is the ID of every password. An ID is not secret, so it must not contain the password.
	passwordID = "none"
)

// textArgs are the inputs of passwords and strings. A nil character class is included.
type textArgs struct {
	Keepers         map[string]string `json:"keepers,omitempty"`
	Length          int               `json:"length"`
	Lower           *bool             `json:"lower"`
	MinLower        int               `json:"minLower"`
	MinNumeric      int               `json:"minNumeric"`
	MinSpecial      int               `json:"minSpecial"`
	MinUpper        int               `json:"minUpper"`
	Number          *bool             `json:"number"`
	Numeric         *bool             `json:"numeric"`
	OverrideSpecial *string           `json:"overrideSpecial,omitempty"`
	Special         *bool             `json:"special"`
	Upper           *bool             `json:"upper"`
}

type textState struct {
	textArgs
	Result string `json:"result"`
}

type passwordState struct {
	textState
	BcryptHash string `json:"bcryptHash"`
}

// textRules returns the rules of passwords and strings. Every change creates a new text.
func textRules() rules.ByPath {
	minimum := rules.Rule{Replace: true, Range: rules.AtLeast(0)}
	return rules.ByPath{}.Each(rules.Rule{Replace: true}, "keepers lower number numeric overrideSpecial special upper").
		Each(minimum, "minLower minNumeric minSpecial minUpper").
		With("", rules.ByPath{"length": {Replace: true, Range: rules.AtLeast(1)}})
}

func password() frame.Resource {
	return frame.Resource{
		Args:  sdk.RandomPasswordArgs{},
		State: sdk.RandomPassword{},
		Rules: textRules().Each(rules.Rule{Secret: true}, "result bcryptHash"),
		Operations: frame.Handle(frame.CRUD[textArgs, passwordState]{
			Check: checkText,
			Create: func(_ context.Context, r frame.Request[textArgs, passwordState]) (string, passwordState, error) {
				result, err := text(r.Args)
				if err != nil {
					return "", passwordState{}, err
				}
				state, err := passwordOf(r.Args, result)
				return passwordID, state, err
			},
			Read: func(_ context.Context, r frame.Request[textArgs, passwordState]) (string, passwordState, error) {
				if !r.Importing {
					return r.ID, r.State, nil
				}
				state, err := passwordOf(textArgs{Length: len(r.ID)}, r.ID)
				return passwordID, state, err
			},
		}),
	}
}

func randomString() frame.Resource {
	return frame.Resource{
		Args:  sdk.RandomStringArgs{},
		State: sdk.RandomString{},
		Rules: textRules(),
		Operations: frame.Handle(frame.CRUD[textArgs, textState]{
			Check: checkText,
			Create: func(_ context.Context, r frame.Request[textArgs, textState]) (string, textState, error) {
				result, err := text(r.Args)
				return result, textState{textArgs: r.Args.withDefaults(), Result: result}, err
			},
			Read: func(_ context.Context, r frame.Request[textArgs, textState]) (string, textState, error) {
				if !r.Importing {
					return r.ID, r.State, nil
				}
				return r.ID, textState{textArgs: textArgs{Length: len(r.ID)}.withDefaults(), Result: r.ID}, nil
			},
		}),
	}
}

// passwordOf returns the state of a password with its hash. bcrypt rejects longer passwords than bcryptLimit, so the hash covers
// only the beginning of such a password.
func passwordOf(args textArgs, result string) (passwordState, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(result[:min(len(result), bcryptLimit)]), bcrypt.DefaultCost)
	if err != nil {
		return passwordState{}, fmt.Errorf("hash password: %w", err)
	}
	return passwordState{textState{args.withDefaults(), result}, string(hash)}, nil
}

// class is one class of characters, such as digits.
type class struct {
	property string
	letters  string
	minimum  int
	included bool
}

// withDefaults returns a with a value for every class. "number" is the older name of "numeric".
func (a textArgs) withDefaults() textArgs {
	yes := true
	if a.Numeric == nil {
		a.Numeric = a.Number
	}
	for _, b := range []**bool{&a.Lower, &a.Numeric, &a.Special, &a.Upper} {
		if *b == nil {
			*b = &yes
		}
	}
	a.Number = a.Numeric
	return a
}

func (a textArgs) classes() []class {
	a = a.withDefaults()
	special := specials
	if a.OverrideSpecial != nil && *a.OverrideSpecial != "" {
		special = *a.OverrideSpecial
	}
	return []class{
		{"minLower", lowerCase, a.MinLower, *a.Lower},
		{"minUpper", upperCase, a.MinUpper, *a.Upper},
		{"minNumeric", digits, a.MinNumeric, *a.Numeric},
		{"minSpecial", special, a.MinSpecial, *a.Special},
	}
}

func checkText(args textArgs) []frame.Failure {
	var failures []frame.Failure
	minimum, letters := 0, ""
	for _, c := range args.classes() {
		minimum += c.minimum
		if c.included {
			letters += c.letters
		}
	}
	if args.Length != 0 && args.Length < minimum {
		failures = append(failures, frame.Failure{
			Path:   "length",
			Reason: fmt.Sprintf("length must be at least the sum of the minimums, %d, not %d", minimum, args.Length),
		})
	}
	if letters == "" {
		failures = append(failures, frame.Failure{
			Path:   "special",
			Reason: "at least one of lower, upper, numeric and special must include characters",
		})
	}
	return failures
}

// text chooses the required characters of each class, adds characters of all included classes, and shuffles.
func text(args textArgs) (string, error) {
	var result []byte
	var all strings.Builder
	for _, c := range args.classes() {
		result = append(result, choose(c.letters, c.minimum)...)
		if c.included {
			all.WriteString(c.letters)
		}
	}
	result = append(result, choose(all.String(), args.Length-len(result))...)
	// Without the shuffle, the class of the first characters would be known.
	for i := len(result) - 1; i > 0; i-- {
		j := below(i + 1)
		result[i], result[j] = result[j], result[i]
	}
	return string(result), nil
}

func choose(letters string, n int) []byte {
	chosen := make([]byte, n)
	for i := range chosen {
		chosen[i] = letters[below(len(letters))]
	}
	return chosen
}
