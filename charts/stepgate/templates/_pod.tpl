{{/* The common settings of all Pods. */}}
{{- define "stepgate.commonPodSettings" -}}
{{- with concat .Values.global.imagePullSecrets .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
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
{{- /* The templates of the webhook and of the reporter add these lists to their own. */}}
{{- with omit .Values.pod "containers" "initContainers" "volumes" }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The common settings of the webhook's Pods and of the Pod of `helm test`. */}}
{{- define "stepgate.podSettings" -}}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- if not .Values.pod.dnsPolicy }}
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{ include "stepgate.commonPodSettings" . | trim }}
{{- end }}

{{/* The arguments that say how the gate decides. The reporter has the same. */}}
{{- define "stepgate.ruleArgs" -}}
- --installation={{ include "stepgate.namespace" . }}/{{ include "stepgate.fullname" . }}
- --mode={{ .Values.config.mode }}
- --require={{ .Values.config.require }}
- --pin={{ .Values.pin.mode }}
- --gate-rollbacks={{ .Values.config.gateRollbacks }}
- --allow-failed-operations={{ .Values.config.allowFailedOperations }}
- --hold={{ .Values.hold.enabled }}
- --release={{ .Values.releaseWaiting.enabled }}
- --start={{ ternary "true" "false" (ne (include "stepgate.starts" .) "") }}
- --max-update={{ .Values.config.maxUpdate }}
{{- if .Values.waves.enabled }}
- --waves
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
{{- range include "stepgate.argocdAccounts" (dict "root" . "accounts" .Values.argocd.applicationSetAccounts "part" "applicationset-controller") | fromYamlArray }}
- {{ printf "--argocd-applicationset-account=%s" . | quote }}
{{- end }}
{{- end }}

{{/* The arguments that say where metrics and probes are served, and how the log looks. The reporter has the same. */}}
{{- define "stepgate.commonArgs" -}}
- --metrics-bind-address={{ ternary (printf ":%d" (int .Values.metrics.port)) "0" .Values.metrics.enabled }}
- --health-probe-bind-address=:8081
- --profiling={{ .Values.metrics.profiling }}
{{- /* stepgate logs what is worth a warning as information or as an error. */}}
{{- $levels := dict "trace" "2" "warn" "error" "warning" "error" "fatal" "panic" }}
{{- $level := toString .Values.log.level }}
- --zap-log-level={{ get $levels $level | default $level }}
- --zap-encoder={{ .Values.log.format }}
{{- end }}

{{/* The arguments of `stepgate-webhook serve`. */}}
{{- define "stepgate.args" -}}
- serve
{{ include "stepgate.ruleArgs" . }}
- --ledger={{ .Values.config.ledger }}
- --write-barrier={{ ternary "true" "false" (eq (include "stepgate.barrier" .) "true") }}
{{- range .Values.approvals.users }}
- {{ printf "--approver=%s" . | quote }}
{{- end }}
{{- range .Values.approvals.groups }}
- {{ printf "--approver-group=%s" . | quote }}
{{- end }}
{{- if .Values.config.verify.create }}
- --verify-create=true
{{- end }}
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
{{- if ne .Values.certs.mode "self" }}
- --cert-dir=/tls
{{- else if .Values.webhook.url }}
- --cert-host={{ include "stepgate.host" . }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* The probes of a container. */}}
{{- define "stepgate.probes" -}}
# The process answers. It does so before it has listed anything, so that it needs no startup probe.
livenessProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
# It could answer a call. It asks the API server for that, which may take seconds.
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}
