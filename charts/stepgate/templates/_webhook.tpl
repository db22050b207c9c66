{{/* The parts that the validating and the mutating webhook configuration have in common. */}}

{{/* The name of both configurations, and their labels and annotations. */}}
{{- define "stepgate.webhookMetadata" -}}
{{- $annotations := dict "argocd.argoproj.io/sync-wave" "1" }}
{{- if eq .Values.certs.mode "certManager" }}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s-tls" (include "stepgate.namespace" .) (include "stepgate.fullname" .)) }}
{{- end }}
{{- include "stepgate.metadata" (dict "root" . "cluster" true "annotations" (merge (dict) .Values.webhook.annotations $annotations)) }}
{{- end }}

{{/* The address that the API server calls. Call it with a dict of root and path. */}}
{{- define "stepgate.clientConfig" -}}
{{- with .root -}}
{{- if eq .Values.certs.mode "self" -}}
# caBundle is not set here: stepgate fills it.
{{ else if eq .Values.certs.mode "certManager" -}}
# caBundle is not set here: cert-manager's cainjector fills it.
{{ end -}}
clientConfig:
  {{- if .Values.webhook.url }}
  url: {{ printf "%s%s" (trimSuffix "/validate" .Values.webhook.url) $.path | quote }}
  {{- else }}
  service:
    namespace: {{ include "stepgate.namespace" . }}
    name: {{ include "stepgate.fullname" . }}
    path: {{ $.path }}
    port: 443
  {{- end }}
  {{- if and (eq .Values.certs.mode "external") .Values.certs.external.caBundle }}
  caBundle: {{ .Values.certs.external.caBundle | b64enc }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Not empty if a text is a pattern. */}}
{{- define "stepgate.isPattern" -}}
{{- if regexMatch "[*?/\\[]" . }}true{{ end }}
{{- end }}

{{/* The regular expression for a name or a pattern, as Argo CD matches it: a regular expression between slashes, or else a glob. */}}
{{- define "stepgate.regexp" -}}
{{- if hasPrefix "/" . }}{{ . | trimPrefix "/" | trimSuffix "/" }}
{{- else }}{{ printf "^%s$" (. | replace "." "\\." | replace "[!" "[^" | replace "*" ".*" | replace "?" ".") }}
{{- end }}
{{- end }}

{{/* Whether argocd.applicationNamespaces has a pattern: then nobody knows the names of all namespaces. */}}
{{- define "stepgate.namespacePatterns" -}}
{{- range .Values.argocd.applicationNamespaces }}{{ include "stepgate.isPattern" . }}{{ end }}
{{- end }}

{{/* argocd.applicationNamespaces if they are names, as JSON; else none. */}}
{{- define "stepgate.namedNamespaces" -}}
{{- ternary (list) .Values.argocd.applicationNamespaces (ne (include "stepgate.namespacePatterns" .) "") | toJson }}
{{- end }}

{{/* Not empty if there is a write barrier: it needs one watch of all namespaces. */}}
{{- define "stepgate.barrier" -}}
{{- if and .Values.writeBarrier.enabled (not (include "stepgate.namedNamespaces" . | fromJsonArray)) }}true{{ end }}
{{- end }}

{{/* CEL for patterns. A namespace selector takes names only. */}}
{{- define "stepgate.namespaceCondition" -}}
{{- if include "stepgate.namespacePatterns" . }}
{{- $matches := list }}
{{- range .Values.argocd.applicationNamespaces }}
{{- $matches = append $matches (printf "request.namespace.matches(%s)" (toRawJson (include "stepgate.regexp" .))) }}
{{- end }}
{{- join " || " $matches | squote }}
{{- end }}
{{- end }}

{{/* Not empty if argocd.applicationNamespaces has a namespace, as far as names and patterns say. Call it with a dict of root and namespace. */}}
{{- define "stepgate.gates" -}}
{{- range .root.Values.argocd.applicationNamespaces }}{{ if regexMatch (include "stepgate.regexp" .) $.namespace }}true{{ end }}{{ end }}
{{- end }}

{{/* A namespace that is gated, for `helm test`: test.namespace, or the first name in argocd.applicationNamespaces, or Argo CD's or stepgate's
namespace if a pattern matches it. Empty if all are patterns that match neither. */}}
{{- define "stepgate.testNamespace" -}}
{{- $found := list .Values.test.namespace }}
{{- range .Values.argocd.applicationNamespaces }}
{{- $found = append $found (ternary "" . (ne (include "stepgate.isPattern" .) "")) }}
{{- end }}
{{- range list (include "stepgate.argocdNamespace" .) (include "stepgate.namespace" .) }}
{{- $found = append $found (ternary . "" (ne (include "stepgate.gates" (dict "root" $ "namespace" .)) "")) }}
{{- end }}
{{- first (append (compact $found) (ternary "" (include "stepgate.namespace" .) (gt (len .Values.argocd.applicationNamespaces) 0))) }}
{{- end }}

{{/* CEL for an Application that webhook.exemptApplications does not have. */}}
{{- define "stepgate.notExempt" -}}
{{- $names := list }}
{{- $clauses := list }}
{{- range .Values.webhook.exemptApplications }}
{{- $name := printf "%s/%s" .namespace .name }}
{{- if regexMatch "[*?\\[]" $name }}
{{- $clauses = append $clauses (printf "(request.namespace + '/' + object.metadata.name).matches(r'%s')" (include "stepgate.regexp" $name)) }}
{{- else }}
{{- $names = append $names (squote $name) }}
{{- end }}
{{- end }}
{{- with $names }}
{{- $clauses = prepend $clauses (printf "(request.namespace + '/' + object.metadata.name) in\n[%s]" (join ", " .)) }}
{{- end -}}
!(has(object.metadata.name) && ({{ join "\n|| " $clauses }}))
{{- end }}

{{/* The namespaces from which the API server sends anything. */}}
{{- define "stepgate.webhookNamespaces" -}}
namespaceSelector:
  {{- with .Values.webhook.namespaceSelector.matchLabels }}
  matchLabels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  matchExpressions:
    # The emergency switch: kubectl label namespace argocd stepgate.io/ignore=true
    - key: stepgate.io/ignore
      operator: NotIn
      values: ["true"]
    {{- with include "stepgate.namedNamespaces" . | fromJsonArray }}
    - key: kubernetes.io/metadata.name
      operator: In
      values:
        {{- toYaml . | nindent 8 }}
    {{- end }}
    {{- with .Values.webhook.namespaceSelector.matchExpressions }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* CEL for an object that Argo CD tracks as another Application's. Call it with its name. */}}
{{- define "stepgate.tracked" -}}
(has({{ . }}.metadata.annotations) && 'argocd.argoproj.io/tracking-id' in {{ . }}.metadata.annotations
|| has({{ . }}.metadata.labels) && 'app.kubernetes.io/instance' in {{ . }}.metadata.labels)
{{- end }}

{{/* Which writes of Applications the API server sends. With matchPolicy Equivalent it converts those in another version of the API; "*" would
match them as they are, and the conditions and stepgate would look for fields that may be elsewhere. A status subresource could not carry an operation:
the API server takes all but the status from the stored object. */}}
{{- define "stepgate.webhookScope" -}}
rules:
  - apiGroups: [argoproj.io]
    apiVersions: [v1alpha1]
    resources: [applications]
    operations: [CREATE, UPDATE]
    scope: Namespaced
admissionReviewVersions: [v1]
matchPolicy: Equivalent
sideEffects: NoneOnDryRun
{{ include "stepgate.webhookNamespaces" . }}
{{- with .Values.webhook.objectSelector }}
objectSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
# An Application has no status subresource. Without these conditions, the API server would send every status write of every
# Application. Each expression checks has() before it uses a field, because failurePolicy decides if an expression fails.
matchConditions:
  {{- with include "stepgate.namespaceCondition" . }}
  - name: gated-namespace
    expression: {{ . }}
  {{- end }}
  - name: operation-set
    expression: has(object.operation)
  - name: operation-changed
    expression: oldObject == null || !has(oldObject.operation) || object.operation != oldObject.operation
  - name: owned-by-applicationset
    expression: >-
      (has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o,
      has(o.kind) && o.kind == 'ApplicationSet' && has(o.apiVersion) && o.apiVersion.startsWith('argoproj.io/')))
      || (oldObject != null && has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(o,
      has(o.kind) && o.kind == 'ApplicationSet' && has(o.apiVersion) && o.apiVersion.startsWith('argoproj.io/')))
      || (has(object.metadata.annotations) && 'stepgate.io/after' in object.metadata.annotations)
      {{- if .Values.waves.enabled }}
      || [object, oldObject].exists(o, o != null
      && {{ include "stepgate.tracked" "o" | nindent 6 | trim }})
      {{- end }}
  {{- with .Values.webhook.exemptApplications }}
  - name: not-exempt
    expression: >-
      {{- include "stepgate.notExempt" $ | nindent 6 }}
  {{- end }}
  {{- with .Values.webhook.matchConditions }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Which writes the API server sends because of annotations. Call it with a dict of root, resources, and name and expression of the condition.
Writes of the status of an ApplicationSet are those of a subresource, and are never sent. webhook.objectSelector, exemptApplications and
matchConditions are about operations. */}}
{{- define "stepgate.annotationScope" -}}
rules:
  - apiGroups: [argoproj.io]
    apiVersions: [v1alpha1]
    resources: [{{ .resources }}]
    operations: [CREATE, UPDATE]
    scope: Namespaced
admissionReviewVersions: [v1]
matchPolicy: Equivalent
sideEffects: None
{{ include "stepgate.webhookNamespaces" .root }}
# Each expression checks has() before it uses a field, because failurePolicy decides if an expression fails.
matchConditions:
  {{- with include "stepgate.namespaceCondition" .root }}
  - name: gated-namespace
    expression: {{ . }}
  {{- end }}
  - name: not-deleted
    expression: "!has(object.metadata.deletionTimestamp)"
  - name: {{ .name }}
    expression: >-
      {{- .expression | nindent 6 }}
{{- end }}

{{/* CEL for: the annotation k is new, or has changed. */}}
{{- define "stepgate.annotationChanged" -}}
(oldObject == null || !has(oldObject.metadata.annotations) || !(k in oldObject.metadata.annotations)
|| oldObject.metadata.annotations[k] != object.metadata.annotations[k])
{{- end }}

{{/* CEL for: an annotation of stepgate is new, has changed or is gone; of an Application, one that it may have of its own. */}}
{{- define "stepgate.anyAnnotationChanged" -}}
{{- if .Values.waves.enabled -}}
(has(object.metadata.annotations) && ['argocd.argoproj.io/sync-wave', 'argocd.argoproj.io/tracking-id'].exists(k,
k in object.metadata.annotations && !object.metadata.annotations[k].matches('^[+-]?[0-9]+$')
&& {{ include "stepgate.annotationChanged" . }})) ||
{{ else -}}
request.resource.resource == 'applications'
? has(object.metadata.annotations) && ['stepgate.io/after', 'stepgate.io/waves'].exists(k, k in object.metadata.annotations
&& {{ include "stepgate.annotationChanged" . }})
: {{ end -}}
(has(object.metadata.annotations) && object.metadata.annotations.exists(k, k.startsWith('stepgate.io/')
&& {{ include "stepgate.annotationChanged" . }}))
|| (oldObject != null && has(oldObject.metadata.annotations) && oldObject.metadata.annotations.exists(k, k.startsWith('stepgate.io/')
&& (!has(object.metadata.annotations) || !(k in object.metadata.annotations))))
{{- end }}

{{/* CEL for: an annotation that says who has approved or paused is new, or has changed. */}}
{{- define "stepgate.approvalChanged" -}}
has(object.metadata.annotations) && ['stepgate.io/approved', 'stepgate.io/approved-by', 'stepgate.io/paused-by'].exists(k, k in object.metadata.annotations
&& {{ include "stepgate.annotationChanged" . }})
{{- end }}
