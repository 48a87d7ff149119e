package status

import "testing"

func TestRootCauseOfAStackOrOfWhatIsGone(t *testing.T) {
	for name, tc := range map[string]causeCase{
		"a key that no context has is the team's": {
			changes: []change{says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyInProgress",
				`spec.envRefs.GOOGLE_REGION: Secret team-web/strata-context has no key "GOOGLE_REGIO": ask the platform team`)},
			want: "Stack team-web/wordpress-infra: NotReadyInProgress: spec.envRefs.GOOGLE_REGION names key GOOGLE_REGIO, which Secret strata-context does not have " +
				"(it has GOOGLE_CREDENTIALS, GOOGLE_PROJECT, GOOGLE_REGION, PULUMI_BACKEND_URL, PULUMI_CONFIG_PASSPHRASE): team web: correct it and push",
		},
		"a key that no context's ConfigMap has is the team's": {
			changes: []change{says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyInProgress",
				`spec.configRef.instanz: ConfigMap team-web/strata-context has no key "instanz": ask the platform team`)},
			want: "Stack team-web/wordpress-infra: NotReadyInProgress: spec.configRef.instanz names key instanz, which ConfigMap strata-context does not have " +
				"(it has handoffVersion, instance, project, region): team web: correct it and push",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t)
		})
	}
}
