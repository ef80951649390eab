{{/* Name of all objects. */}}
{{- define "secrets.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* Labels that select the pods; they never change. */}}
{{- define "secrets.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of all objects. */}}
{{- define "secrets.labels" -}}
{{ include "secrets.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "secrets.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "secrets.name" .) }}
{{- end }}

{{/* HTTP request of a probe. */}}
{{- define "secrets.probe" -}}
port: http
scheme: {{ ternary "HTTPS" "HTTP" (ne .Values.tlsSecret "") }}
{{- end }}

{{/* Fails if settings.epoch_path is not in a writable volume that is kept when a pod ends. */}}
{{- define "secrets.checkEpochPath" -}}
{{- with .Values.settings.epoch_path }}
{{- $path := . }}
{{- $kept := list }}
{{- range $volume := $.Values.extraVolumes }}
{{- $isKept := true }}
{{- range list "emptyDir" "ephemeral" "configMap" "secret" "projected" "downwardAPI" }}
{{- if hasKey $volume . }}{{- $isKept = false }}{{- end }}
{{- end }}
{{- if $isKept }}
{{- $kept = append $kept $volume.name }}
{{- end }}
{{- end }}
{{- $found := false }}
{{- range $.Values.extraVolumeMounts }}
{{- $folder := printf "%s/" (trimSuffix "/" .mountPath) }}
{{- if and (has .name $kept) (hasPrefix $folder $path) (not .readOnly) }}
{{- $found = true }}
{{- end }}
{{- end }}
{{- if not $found }}
{{- fail "settings.epoch_path must be in a writable mount of extraVolumeMounts, whose volume in extraVolumes is kept when a pod ends" }}
{{- end }}
{{- end }}
{{- end }}
