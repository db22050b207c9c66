{{/* The common settings of all Pods. */}}
{{- define "stepgate.commonPodSettings" -}}
{{- with concat .Values.global.imagePullSecrets .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The common settings of the webhook's Pods and of the Pod of `helm test`. */}}
{{- define "stepgate.podSettings" -}}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
dnsPolicy: {{ default (ternary "ClusterFirstWithHostNet" "ClusterFirst" .Values.hostNetwork) .Values.dnsPolicy }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{ include "stepgate.commonPodSettings" . | trim }}
{{- end }}

{{/* The arguments that say how the gate decides. The reporter has the same. */}}
{{- define "stepgate.ruleArgs" -}}
- --mode={{ .Values.config.mode }}
- --require={{ .Values.config.require }}
- --pin={{ .Values.pin.mode }}
- --gate-rollbacks={{ .Values.config.gateRollbacks }}
- --allow-failed-operations={{ .Values.config.allowFailedOperations }}
- --spec-settling={{ .Values.config.specSettling }}
- --hold={{ .Values.hold.enabled }}
- --release={{ .Values.releaseWaiting.enabled }}
- --start={{ ternary "true" "false" (ne (include "stepgate.starts" .) "") }}
- --max-update={{ .Values.config.maxUpdate }}
{{- if .Values.config.maxUpdate }}
- --max-update-namespace={{ include "stepgate.namespace" . }}
{{- end }}
- --sync-windows={{ .Values.syncWindows.enabled }}
- --argocd-namespace={{ include "stepgate.argocdNamespace" . }}
{{- range .Values.config.bypassUsers }}
- {{ printf "--bypass-user=%s" . | quote }}
{{- end }}
- --approve-four-eyes={{ .Values.approvals.fourEyes }}
- --allowed-annotations={{ join "," .Values.config.allowedAnnotations }}
{{- range .Values.config.afterNamespaces }}
- --after-namespaces={{ . }}
{{- end }}
{{- range .Values.config.verify.kinds }}
- --verify-kinds={{ . }}
{{- end }}
{{- range .Values.config.verify.namespaces }}
- --verify-namespaces={{ . }}
{{- end }}
{{- range .Values.argocd.applicationNamespaces }}
- --application-namespaces={{ . }}
{{- end }}
{{- range include "stepgate.argocdAccounts" (dict "root" . "accounts" .Values.argocd.serverAccounts "part" "server") | fromYamlArray }}
- {{ printf "--argocd-server-account=%s" . | quote }}
{{- end }}
{{- range include "stepgate.argocdAccounts" (dict "root" . "accounts" .Values.argocd.controllerAccounts "part" "application-controller") | fromYamlArray }}
- {{ printf "--argocd-controller-account=%s" . | quote }}
{{- end }}
{{- range include "stepgate.argocdAccounts" (dict "root" . "accounts" .Values.argocd.applicationSetAccounts "part" "applicationset-controller") | fromYamlArray }}
- {{ printf "--argocd-applicationset-account=%s" . | quote }}
{{- end }}
{{- end }}

{{/* The arguments that say where metrics and probes are served, and how the log looks. The reporter has the same. */}}
{{- define "stepgate.commonArgs" -}}
- --metrics-bind-address={{ ternary (printf ":%d" (int .Values.metrics.port)) "0" .Values.metrics.enabled }}
- --health-probe-bind-address=:8081
- --profiling={{ .Values.metrics.profiling }}
- --zap-log-level={{ .Values.log.level }}
- --zap-encoder={{ .Values.log.format }}
- --zap-time-encoding={{ .Values.log.timeEncoding }}
{{- end }}

{{/* The arguments of `stepgate-webhook serve`. */}}
{{- define "stepgate.args" -}}
- serve
{{ include "stepgate.ruleArgs" . }}
{{- if .Values.writeBarrier.enabled }}
- --write-barrier={{ include "stepgate.namespace" . }}/{{ include "stepgate.fullname" . }}-barrier
{{- end }}
{{- range .Values.approvals.users }}
- {{ printf "--approver=%s" . | quote }}
{{- end }}
{{- range .Values.approvals.groups }}
- {{ printf "--approver-group=%s" . | quote }}
{{- end }}
{{- if .Values.config.verify.create }}
- --verify-create=true
{{- end }}
- --webhook-configuration={{ include "stepgate.fullname" . }}
- --mutating-webhook-configuration={{ include "stepgate.fullname" . }}
{{- if .Values.webhook.clientCA.configMap }}
- --client-ca-file=/client-ca/ca.crt
{{- range .Values.webhook.clientCA.allowedNames }}
- {{ printf "--client-allowed-name=%s" . | quote }}
{{- end }}
{{- end }}
- --webhook-bind-address=:{{ .Values.webhook.port }}
{{ include "stepgate.commonArgs" . }}
{{- with .Values.tracing.endpoint }}
- {{ printf "--tracing-endpoint=%s" . | quote }}
- --tracing-sampling-rate-per-million={{ int $.Values.tracing.samplingRatePerMillion }}
{{- end }}
- --shutdown-delay={{ .Values.shutdownDelay }}
{{- if eq .Values.certs.mode "self" }}
- --cert-mode=self
- --cert-secret={{ include "stepgate.namespace" . }}/{{ include "stepgate.fullname" . }}-ca
{{- if include "stepgate.hostIsAddress" . }}
- --cert-ip-address={{ include "stepgate.host" . }}
{{- else }}
- --cert-dns-name={{ include "stepgate.host" . }}
{{- end }}
{{- else }}
- --cert-mode=files
- --cert-dir=/tls
{{- end }}
{{- if include "stepgate.starts" . }}
- --start-lease={{ include "stepgate.namespace" . }}/{{ include "stepgate.fullname" . }}-start
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* The probes of a container. */}}
{{- define "stepgate.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: probes}
  {{- toYaml .Values.livenessProbe | nindent 2 }}
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  {{- toYaml .Values.readinessProbe | nindent 2 }}
{{- with .Values.startupProbe }}
startupProbe:
  httpGet: {path: /healthz, port: probes}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The environment of a container. */}}
{{- define "stepgate.environment" -}}
{{- with .Values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
