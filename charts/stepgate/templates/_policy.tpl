{{/* The parts that the ValidatingAdmissionPolicies of stepgate's own account have in common. */}}

{{/* The match condition that selects the writes of stepgate's account. */}}
{{- define "stepgate.byStepgate" -}}
- name: by-stepgate
  expression: request.userInfo.username == 'system:serviceaccount:{{ include "stepgate.namespace" . }}:{{ include "stepgate.serviceAccountName" . }}'
{{- end }}

{{/* The binding of a policy. Call it with a dict of root and the suffix of the policy's name. */}}
{{- define "stepgate.policyBinding" }}
---
apiVersion: admissionregistration.k8s.io/{{ include "stepgate.admissionPolicyVersion" .root }}
kind: ValidatingAdmissionPolicyBinding
metadata:
  {{- include "stepgate.metadata" (dict "root" .root "cluster" true "suffix" .suffix) | nindent 2 }}
spec:
  policyName: {{ include "stepgate.fullname" .root }}{{ with .suffix }}-{{ . }}{{ end }}
  validationActions: [Deny]
{{- end }}
