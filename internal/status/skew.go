package status

import (
	"fmt"

	"github.com/strata-platform/strata/internal/terminal"
)

// KindVersion is the kind of an item for parts whose versions cannot work together.
const KindVersion = "Version"

// Skew is a part whose version does not fit another part. Its JSON form is stable.
type Skew struct {
	// Part names the part, such as "Kubernetes" or "layer platform".
	Part string `json:"part"`
	// Found names both versions. Remedy says what to do next.
	Found  string `json:"found"`
	Remedy string `json:"remedy"`
	// Broken says that the combination cannot work, or that its maintainers do not support it. Otherwise it is worth a warning.
	Broken bool `json:"broken"`
}

// String returns the skew as one line that is safe to print.
func (s Skew) String() string {
	return terminal.Line(fmt.Sprintf("%s: %s: %s", s.Part, s.Found, s.Remedy), longestMessage)
}

// Item returns the item of parts that cannot work together.
func (s Skew) Item() Item {
	return Item{Layer: LayerBootstrap, Kind: KindVersion, Name: s.Part, Reason: ReasonUnsupported, Message: s.Found + ": the platform team: " + s.Remedy}
}

// WithSkew returns the report with the skew of the platform's versions. Parts that cannot work together are its first items.
func (r Report) WithSkew(list []Skew) Report {
	r.Skew = list
	var broken []Item
	for _, each := range list {
		if each.Broken {
			broken = append(broken, each.Item())
		}
	}
	if len(broken) == 0 {
		return r
	}
	causes, notes := []Cause{}, map[int]Note{}
	for i := range broken {
		causes = append(causes, Cause{Item: i})
	}
	for _, cause := range r.Causes {
		moved := Cause{Item: cause.Item + len(broken)}
		for _, i := range cause.Explains {
			moved.Explains = append(moved.Explains, i+len(broken))
		}
		causes = append(causes, moved)
	}
	for i, note := range r.Notes {
		notes[i+len(broken)] = note
	}
	r.Items = append(broken, r.Items...)
	for i := range r.Items {
		r.Items[i].RootCause = false
	}
	r.Ready, r.Notes = false, notes
	r.SetCauses(causes)
	return r
}

// warnings returns the skew that only needs a warning.
func (r Report) warnings() []Skew {
	var list []Skew
	for _, each := range r.Skew {
		if !each.Broken {
			list = append(list, each)
		}
	}
	return list
}
