{{/*
Name of the objects of an app (`bridge`, `terminal` or `ingest`): the release's name, with the app's unless it contains it.
The app's part is never cut off: three apps with one name would overwrite each other. A Service's name has 63 characters at most.
*/}}
{{- define "machine-bridge.name" -}}
{{- $name := printf "machine-%s" .app -}}
{{- $release := .root.Release.Name -}}
{{- if contains $name $release -}}{{ $release }}
{{- else if eq $release "machine-bridge" -}}{{ $name }}
{{- else -}}{{ printf "%s-%s" ($release | trunc 46 | trimSuffix "-") $name }}
{{- end -}}
{{- end }}

{{/* Labels that select the pods of an app; they never change. */}}
{{- define "machine-bridge.selector" -}}
app.kubernetes.io/name: machine-{{ .app }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "machine-bridge.labels" -}}
{{ include "machine-bridge.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: machine-bridge
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Environment of an app as the data of a ConfigMap. Ingest reads documents as the bridge does, and the bridge's group names its transactions. */}}
{{- define "machine-bridge.settings" -}}
{{- $settings := deepCopy .values.settings -}}
{{- if ne .app "bridge" -}}
{{- /* The proxy is for the server of Kafka's tokens and for callbacks. */ -}}
{{- $shared := ternary "^(KAFKA_|(HTTPS|NO)_PROXY$)" "^(KAFKA_|(HTTPS|NO)_PROXY$|ERP_|EQUIPMENT_MAP_FILE$|COMMAND_MAX_SKEW_SECONDS$)" (eq .app "terminal") -}}
{{- $own := ternary "^KAFKA_(CLIENT|GROUP)_ID$" "^KAFKA_CLIENT_ID$" (eq .app "terminal") -}}
{{- range $name, $value := .root.Values.settings -}}
{{- if and (regexMatch $shared $name) (not (regexMatch $own $name)) (not (hasKey $settings $name)) (not (has $name $.values.secret.keys)) -}}
{{- $_ := set $settings $name $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $settings (printf "%s_HTTP_HOST" (upper .app)) "0.0.0.0" -}}
{{- $_ := set $settings (printf "%s_HTTP_PORT" (upper .app)) .port -}}
{{- range .values.secret.keys -}}
{{- $_ := set $settings (printf "%s_FILE" .) (printf "/run/secrets/machine-%s/%s" $.app .) -}}
{{- end -}}
{{- range $name, $value := $settings }}
{{ $name }}: {{ ternary (printf "%.0f" $value) (toString $value) (and (kindIs "float64" $value) (eq $value (floor $value))) | quote }}
{{- end -}}
{{- end }}
