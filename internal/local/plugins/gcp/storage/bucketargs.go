package storage

import (
	"maps"
	"strings"

	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// apiBucket is the API's bucket without its MarshalJSON method, which would hide the other fields of bucketSpec.
type apiBucket storage.Bucket

// bucketSpec is a bucket in Pulumi's form. Its own fields replace those of the API that have another form there.
type bucketSpec struct {
	apiBucket
	Cors                     []bucketCors      `json:"cors"`
	EnableObjectRetention    bool              `json:"enableObjectRetention"`
	LifecycleRules           []bucketLifecycle `json:"lifecycleRules"`
	Project                  string            `json:"project"`
	PublicAccessPrevention   string            `json:"publicAccessPrevention,omitempty"`
	RequesterPays            bool              `json:"requesterPays"`
	UniformBucketLevelAccess bool              `json:"uniformBucketLevelAccess"`
}

type bucketArgs struct {
	bucketSpec
	ForceDestroy bool `json:"forceDestroy"`
}

type bucketState struct {
	bucketSpec
	// ForceDestroy is a property of the provider only; the service does not store it.
	ForceDestroy    *bool             `json:"forceDestroy,omitempty"`
	EffectiveLabels map[string]string `json:"effectiveLabels"`
	PulumiLabels    map[string]string `json:"pulumiLabels"`
	URL             string            `json:"url"`
}

type bucketCors struct {
	MaxAgeSeconds   int64    `json:"maxAgeSeconds,omitempty"`
	Methods         []string `json:"methods,omitempty"`
	Origins         []string `json:"origins,omitempty"`
	ResponseHeaders []string `json:"responseHeaders,omitempty"`
}

type bucketLifecycle struct {
	Action    *storage.BucketLifecycleRuleAction `json:"action"`
	Condition *lifecycleCondition                `json:"condition"`
}

type apiCondition storage.BucketLifecycleRuleCondition

type lifecycleCondition struct {
	apiCondition
	MatchesPrefixes                   []string `json:"matchesPrefixes,omitempty"`
	MatchesStorageClasses             []string `json:"matchesStorageClasses,omitempty"`
	MatchesSuffixes                   []string `json:"matchesSuffixes,omitempty"`
	NoAge                             bool     `json:"noAge,omitempty"`
	SendDaysSinceCustomTimeIfZero     bool     `json:"sendDaysSinceCustomTimeIfZero,omitempty"`
	SendDaysSinceNoncurrentTimeIfZero bool     `json:"sendDaysSinceNoncurrentTimeIfZero,omitempty"`
	SendNumNewerVersionsIfZero        bool     `json:"sendNumNewerVersionsIfZero,omitempty"`
	WithState                         string   `json:"withState,omitempty"`
}

// api returns the condition in the API's form. It sends an age of zero unless noAge is set, as the official provider
// does.
func (c *lifecycleCondition) api() *storage.BucketLifecycleRuleCondition {
	out := storage.BucketLifecycleRuleCondition(c.apiCondition)
	out.MatchesPrefix, out.MatchesStorageClass, out.MatchesSuffix = c.MatchesPrefixes, c.MatchesStorageClasses, c.MatchesSuffixes
	out.ForceSendFields = nil
	for field, send := range map[string]bool{
		"DaysSinceCustomTime": c.SendDaysSinceCustomTimeIfZero, "DaysSinceNoncurrentTime": c.SendDaysSinceNoncurrentTimeIfZero,
		"NumNewerVersions": c.SendNumNewerVersionsIfZero,
	} {
		if send {
			out.ForceSendFields = append(out.ForceSendFields, field)
		}
	}
	switch {
	case c.NoAge:
		out.Age = nil
	case out.Age == nil:
		out.Age = new(int64)
	}
	if live := c.WithState == stateLive; live || c.WithState == stateArchived {
		out.IsLive = &live
	}
	return &out
}

// The values of withState: the current versions of objects, the other versions, or both.
const (
	stateLive     = "LIVE"
	stateArchived = "ARCHIVED"
	stateAny      = "ANY"
)

// conditionOfRule converts the condition of a lifecycle rule from the API's form to Pulumi's.
func conditionOfRule(c *storage.BucketLifecycleRuleCondition) *lifecycleCondition {
	out := &lifecycleCondition{
		apiCondition: apiCondition(*c), MatchesPrefixes: c.MatchesPrefix, MatchesStorageClasses: c.MatchesStorageClass,
		MatchesSuffixes: c.MatchesSuffix, WithState: stateAny,
	}
	if c.IsLive != nil {
		out.WithState = map[bool]string{true: stateLive, false: stateArchived}[*c.IsLive]
	}
	return out
}

// api returns the bucket in the API's form, without the fields that only the creation may set.
func (a *bucketArgs) api(defaultLabels map[string]string) *storage.Bucket {
	b := storage.Bucket(a.apiBucket)
	b.Labels = withDefaultLabels(a.Labels, defaultLabels)
	b.Name, b.Location, b.CustomPlacementConfig = "", "", nil
	b.ForceSendFields = []string{"DefaultEventBasedHold"}
	for _, c := range a.Cors {
		b.Cors = append(b.Cors, &storage.BucketCors{
			MaxAgeSeconds: c.MaxAgeSeconds, Method: c.Methods, Origin: c.Origins, ResponseHeader: c.ResponseHeaders,
		})
	}
	if len(a.LifecycleRules) > 0 {
		b.Lifecycle = &storage.BucketLifecycle{}
		for _, r := range a.LifecycleRules {
			b.Lifecycle.Rule = append(b.Lifecycle.Rule, &storage.BucketLifecycleRule{Action: r.Action, Condition: r.Condition.api()})
		}
	}
	if p := a.RetentionPolicy; p != nil {
		b.RetentionPolicy = &storage.BucketRetentionPolicy{RetentionPeriod: p.RetentionPeriod}
	}
	if p := a.SoftDeletePolicy; p != nil {
		b.SoftDeletePolicy = &storage.BucketSoftDeletePolicy{
			RetentionDurationSeconds: p.RetentionDurationSeconds, ForceSendFields: []string{"RetentionDurationSeconds"},
		}
	}
	b.Billing = &storage.BucketBilling{RequesterPays: a.RequesterPays, ForceSendFields: []string{"RequesterPays"}}
	b.IamConfiguration = &storage.BucketIamConfiguration{
		PublicAccessPrevention: a.PublicAccessPrevention,
		UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{
			Enabled: a.UniformBucketLevelAccess, ForceSendFields: []string{"Enabled"},
		},
	}
	return &b
}

// withDefaultLabels merges the program's labels with the default labels of the provider's configuration. The program's
// labels take precedence.
func withDefaultLabels(own, defaults map[string]string) map[string]string {
	all := maps.Clone(defaults)
	if all == nil {
		return own
	}
	maps.Copy(all, own)
	return all
}

// bucketOf converts a bucket from the API's form to Pulumi's.
func bucketOf(b *storage.Bucket, project string) bucketSpec {
	spec := bucketSpec{
		apiBucket: apiBucket(*b), Cors: []bucketCors{}, LifecycleRules: []bucketLifecycle{}, Project: project,
		EnableObjectRetention: b.ObjectRetention != nil && b.ObjectRetention.Mode == "Enabled",
		RequesterPays:         b.Billing != nil && b.Billing.RequesterPays,
	}
	for _, c := range b.Cors {
		spec.Cors = append(spec.Cors, bucketCors{c.MaxAgeSeconds, c.Method, c.Origin, c.ResponseHeader})
	}
	if b.Lifecycle != nil {
		for _, r := range b.Lifecycle.Rule {
			if r.Action != nil && r.Condition != nil {
				spec.LifecycleRules = append(spec.LifecycleRules, bucketLifecycle{r.Action, conditionOfRule(r.Condition)})
			}
		}
	}
	if c := b.IamConfiguration; c != nil {
		spec.PublicAccessPrevention = c.PublicAccessPrevention
		spec.UniformBucketLevelAccess = c.UniformBucketLevelAccess != nil && c.UniformBucketLevelAccess.Enabled
	}
	return spec
}

func bucketRules() rules.ByPath {
	computed := rules.Rule{Computed: true}
	return rules.ByPath{
		"customPlacementConfig.dataLocations":       {Replace: true, Set: true},
		"effectiveLabels":                           {Secret: true},
		"enableObjectRetention":                     {Replace: true},
		"forceDestroy":                              {Default: false},
		"lifecycleRules.condition.withState":        {Computed: true, OneOf: []string{stateLive, stateArchived, stateAny, ""}},
		"location":                                  {Replace: true, Same: strings.EqualFold},
		"name":                                      {Replace: true, Check: checkBucketName},
		"project":                                   core.FromProvider(),
		"pulumiLabels":                              {Secret: true},
		"retentionPolicy.isLocked":                  {Default: false},
		"retentionPolicy.retentionPeriod":           {Range: [2]int{1, 1<<31 - 1}},
		"softDeletePolicy.retentionDurationSeconds": {Default: 604800},
		"storageClass":                              {Default: "STANDARD"},
	}.Each(computed, `
		autoclass.terminalStorageClass logging.logObjectPrefix publicAccessPrevention rpo softDeletePolicy
		softDeletePolicy.effectiveTime uniformBucketLevelAccess versioning website
	`)
}
