{{/* The parts that the ValidatingAdmissionPolicies of stepgate's own account have in common. */}}

{{/* The match condition that selects the writes of an account. Call it with a list of the root and the account's name. */}}
{{- define "stepgate.byAccount" -}}
- name: by-stepgate
  expression: request.userInfo.username == 'system:serviceaccount:{{ include "stepgate.namespace" (index . 0) }}:{{ index . 1 }}'
{{- end }}

{{/* The validations that fields stay as they are. Call it with a dict of fields, who and what. */}}
{{- define "stepgate.keeps" }}
{{- range .fields }}
- expression: >-
    request.operation != 'UPDATE' || (has(object.{{ . }}) == has(oldObject.{{ . }})
    && (!has(object.{{ . }}) || object.{{ . }} == oldObject.{{ . }}))
  message: {{ $.who }} may not change .{{ . }} of {{ $.what }}
  reason: Forbidden
{{- end }}
{{- end }}

{{/* The match condition that selects the writes of the webhook's account. */}}
{{- define "stepgate.byStepgate" -}}
{{- include "stepgate.byAccount" (list . (include "stepgate.serviceAccountName" .)) }}
{{- end }}

{{/* A policy of the ConfigMaps that an account may write. Call it with a dict of root, suffix, account, allowed (CEL) and message. */}}
{{- define "stepgate.configMapPolicy" }}
apiVersion: admissionregistration.k8s.io/{{ include "stepgate.admissionPolicyVersion" .root }}
kind: ValidatingAdmissionPolicy
metadata:
  {{- include "stepgate.metadata" (dict "root" .root "cluster" true "suffix" .suffix) | nindent 2 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    resourceRules:
      - apiGroups: [""]
        apiVersions: [v1]
        resources: [configmaps]
        operations: [CREATE, UPDATE, DELETE]
  matchConditions:
    {{- include "stepgate.byAccount" (list .root .account) | nindent 4 }}
  validations:
    - expression: >-
        request.namespace == '{{ include "stepgate.namespace" .root }}' && {{ .allowed }}
      message: {{ .message }}
      reason: Forbidden
{{- include "stepgate.policyBinding" (dict "root" .root "suffix" .suffix) }}
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
