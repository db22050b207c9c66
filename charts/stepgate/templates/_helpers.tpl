{{/* The chart's name. */}}
{{- define "stepgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* The name of the objects. 40 characters leave room for every suffix within the 63 of a DNS label. */}}
{{- define "stepgate.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "stepgate.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "stepgate.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "stepgate.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "stepgate.serviceAccountName" -}}
{{- default (include "stepgate.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{/* Labels that select the Pods. */}}
{{- define "stepgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "stepgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: webhook
{{- end }}

{{/* Labels of the Pods. A new version of the chart alone does not change them: it would replace all Pods. Call it with a list of the root and
the object's own labels, which take precedence. */}}
{{- define "stepgate.podLabels" -}}
{{- $root := index . 0 -}}
{{- $own := dict
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "app.kubernetes.io/part-of" "stepgate" -}}
{{- toYaml (merge (dict) (index . 1) (include "stepgate.selectorLabels" $root | fromYaml) $own $root.Values.commonLabels) }}
{{- end }}

{{/* Labels of every object. Call it like stepgate.podLabels. */}}
{{- define "stepgate.labels" -}}
{{- $chart := dict "helm.sh/chart" (printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version | replace "+" "_" | trunc 63) -}}
{{- toYaml (merge (dict) (include "stepgate.podLabels" . | fromYaml) $chart) }}
{{- end }}

{{/* Metadata of an object. Call it with a dict of root and optionally cluster, namespace, labels, annotations, suffix. */}}
{{- define "stepgate.metadata" -}}
name: {{ include "stepgate.fullname" .root }}{{ with .suffix }}-{{ . }}{{ end }}
{{- if .namespace }}
namespace: {{ .namespace }}
{{- else if not .cluster }}
namespace: {{ include "stepgate.namespace" .root }}
{{- end }}
labels:
  {{- include "stepgate.labels" (list .root (default (dict) .labels)) | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* An image. Call it with a list of the root, and the values of the image that have repository and digest. */}}
{{- define "stepgate.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $registry := default $root.Values.image.registry $root.Values.global.imageRegistry -}}
{{- $name := $image.repository -}}
{{- with $registry }}{{ $name = printf "%s/%s" . $name }}{{ end -}}
{{- if $image.digest }}{{ $name }}@{{ $image.digest }}
{{- else }}{{ $name }}:{{ default (printf "v%s" $root.Chart.AppVersion) $root.Values.image.tag }}
{{- end }}
{{- end }}

{{/* Not empty if somebody is to be told, or Argo CD's UI is answered: then the chart installs the reporter. */}}
{{- define "stepgate.reports" -}}
{{- if or .Values.notifications.enabled .Values.ui.enabled }}true{{ end }}
{{- end }}

{{- define "stepgate.reporterAccount" -}}
{{- default (printf "%s-reporter" (include "stepgate.fullname" .)) .Values.reporter.serviceAccount.name }}
{{- end }}

{{/* Labels that select the Pods of the reporter. */}}
{{- define "stepgate.reporterLabels" -}}
{{- toYaml (merge (dict "app.kubernetes.io/component" "reporter") (include "stepgate.selectorLabels" . | fromYaml)) }}
{{- end }}

{{- define "stepgate.failurePolicy" -}}
{{- default (ternary "Ignore" "Fail" (eq .Values.config.mode "audit")) .Values.webhook.failurePolicy }}
{{- end }}

{{- define "stepgate.timeoutSeconds" -}}
{{- default (ternary 2 5 (eq .Values.config.mode "audit")) .Values.webhook.timeoutSeconds }}
{{- end }}

{{- define "stepgate.argocdNamespace" -}}
{{- default (ternary "openshift-gitops" "argocd" (eq .Values.argocd.installation "openshift-gitops")) .Values.argocd.namespace }}
{{- end }}

{{/* The user names of the accounts of one part of Argo CD, as a YAML list. Call it with a dict of root, the accounts of values.yaml and
the name of the part. The manifests and argo-helm call them argocd-PART. Argo CD's operator calls them INSTANCE-argocd-PART, but
INSTANCE-applicationset-controller. */}}
{{- define "stepgate.argocdAccounts" -}}
{{- with .root.Values.argocd -}}
{{- $prefix := "argocd-" -}}
{{- if ne .installation "manifests" -}}
{{- $prefix = printf "%s-%s" (default (ternary "openshift-gitops" "argocd" (eq .installation "openshift-gitops")) .instance) (ternary "" "argocd-" (eq $.part "applicationset-controller")) -}}
{{- end -}}
{{- toYaml (default (list (printf "system:serviceaccount:%s:%s%s" (include "stepgate.argocdNamespace" $.root) $prefix $.part)) $.accounts) -}}
{{- end -}}
{{- end }}

{{/* The Secret to mount, in the modes that mount one. */}}
{{- define "stepgate.tlsSecret" -}}
{{- if eq .Values.certs.mode "external" }}{{ .Values.certs.external.secretName }}
{{- else if eq .Values.certs.mode "certManager" }}{{ include "stepgate.fullname" . }}-tls
{{- end }}
{{- end }}

{{/* The host that the API server calls: the host of webhook.url, or the Service's name. */}}
{{- define "stepgate.host" -}}
{{- if .Values.webhook.url }}{{ regexReplaceAll ":[0-9]+$" (urlParse .Values.webhook.url).host "" | trimPrefix "[" | trimSuffix "]" }}
{{- else }}{{ include "stepgate.fullname" . }}.{{ include "stepgate.namespace" . }}.svc
{{- end }}
{{- end }}

{{/* Not empty when the host is an IP address. */}}
{{- define "stepgate.hostIsAddress" -}}
{{- $host := include "stepgate.host" . -}}
{{- if or (regexMatch "^[0-9.]+$" $host) (contains ":" $host) }}true{{ end }}
{{- end }}

{{/* The version of ValidatingAdmissionPolicy: v1 from Kubernetes 1.30 on, before that v1beta1 if it is switched on, else empty. */}}
{{- define "stepgate.admissionPolicyVersion" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}v1
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1beta1/ValidatingAdmissionPolicy" }}v1beta1
{{- end }}
{{- end }}

{{/* Not empty if the chart renders objects of prometheus-operator: also if it has to fail, which validate.yaml says. */}}
{{- define "stepgate.monitoringObjects" -}}
{{- if or (ne .Values.metrics.serviceMonitor.renderMode "skipIfMissing") (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}true{{ end }}
{{- end }}

{{/* Not empty if stepgate starts syncs by itself. */}}
{{- define "stepgate.starts" -}}
{{- if and .Values.start.enabled (eq .Values.config.mode "enforce") }}true{{ end }}
{{- end }}

{{/* A binding of the role of the same name. Call it with a dict of root and account, and what stepgate.metadata takes. */}}
{{- define "stepgate.roleBinding" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRoleBinding" "RoleBinding" (default false .cluster) }}
metadata:
  {{- include "stepgate.metadata" . | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "ClusterRole" "Role" (default false .cluster) }}
  name: {{ include "stepgate.fullname" .root }}{{ with .suffix }}-{{ . }}{{ end }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ include "stepgate.namespace" .root }}
{{- end }}

{{/* The rules of the role that stepgate needs where the objects are that stepgate.io/verify names. */}}
{{- define "stepgate.evidenceRules" -}}
{{- range .Values.config.verify.kinds }}
{{- $kind := splitn "." 3 . }}
# What stepgate.io/verify may name.
- apiGroups: [{{ $kind._2 | default "" | quote }}]
  resources: [{{ $kind._0 }}]
  verbs: [get, list, watch]
{{- end }}
{{- end }}

{{/* The rules of the role that stepgate needs where the ApplicationSets are, for what stepgate.io/verify has it create. */}}
{{- define "stepgate.creationRules" -}}
{{- if .Values.config.verify.create }}
# The AnalysisRuns that steps wait for, from AnalysisTemplates.
- apiGroups: [argoproj.io]
  resources: [analysistemplates]
  verbs: [get]
- apiGroups: [argoproj.io]
  resources: [analysisruns]
  verbs: [create]
{{- end }}
{{- end }}

{{/* The rule of the roles of both programs in the namespaces of the Applications. */}}
{{- define "stepgate.readRule" -}}
- apiGroups: [argoproj.io]
  resources: [applications, applicationsets]
  verbs: [get, list, watch]
{{- end }}

{{/* The rules of the role that stepgate needs in the namespaces of the Applications. */}}
{{- define "stepgate.applicationRules" -}}
# The live reads of a decision, and the watches that keep them few.
{{ include "stepgate.readRule" . }}
{{- if .Values.releaseWaiting.enabled }}
# To set the annotation argocd.argoproj.io/refresh{{ if include "stepgate.starts" . }}, and to start and terminate syncs{{ end }}. The ValidatingAdmissionPolicy rejects every other change.
- apiGroups: [argoproj.io]
  resources: [applications]
  verbs: [patch]
{{- end }}
# Events about denials, on the Application.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}

{{/* The PriorityClass that the chart creates: in enforce mode no sync starts without stepgate. */}}
{{- define "stepgate.priorityClass" -}}
{{- if and (eq .Values.config.mode "enforce") (not .Values.priorityClassName) }}{{ include "stepgate.fullname" . }}{{ end }}
{{- end }}
