{{/* The name of all resources, at most 63 characters: it ends up in labels and host names. */}}
{{- define "amqp-kafka-bridge.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "amqp-kafka-bridge.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "amqp-kafka-bridge.labels" -}}
{{ include "amqp-kafka-bridge.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "amqp-kafka-bridge.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "amqp-kafka-bridge.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "amqp-kafka-bridge.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
A value as it stands in a properties file. Helm reads every number of a values file as a float, which
it would print as 1.6777216e+07.
*/}}
{{- define "amqp-kafka-bridge.value" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- printf "%.0f" . -}}
{{- else -}}
{{- $text := toString . | replace "\\" "\\\\" | replace "\n" "\\n" | replace "\r" "\\r" | replace "\t" "\\t" | replace "\f" "\\f" -}}
{{- if hasPrefix " " $text -}}{{- "\\" -}}{{- end -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{/*
The file, after a look at what only the chart can tell: secrets, a missing address, and two files of routes.
*/}}
{{- define "amqp-kafka-bridge.properties" -}}
{{- $options := .Values.bridge.properties -}}
{{- range $key := keys $options -}}
{{- if regexMatch "passw(or)?d|passphrase|secret|credential|token|jaas|key\\.pem|private\\.key|oauthbearer\\.config|keystore\\.key" (lower $key | replace "_" ".") -}}
{{- fail (printf "bridge.properties: %s: this sounds like a secret, which has no place in a ConfigMap; give %s in bridge.env, from a Secret" $key (printf "BRIDGE_%s" ($key | replace "." "_" | upper))) -}}
{{- end -}}
{{- end -}}
{{- $given := index $options "kafka.bootstrap.servers" -}}
{{- range .Values.bridge.env -}}
{{- if eq .name "BRIDGE_KAFKA_BOOTSTRAP_SERVERS" -}}{{- $given = "by the environment" -}}{{- end -}}
{{- end -}}
{{- $_ := required "bridge.properties: kafka.bootstrap.servers: name the brokers of your Kafka (host:port, ...)" $given -}}
{{- if .Values.bridge.routes -}}
{{- if hasKey $options "routes.file" -}}
{{- fail "bridge.properties: routes.file: the chart writes a file of bridge.routes; give the one or the other" -}}
{{- end -}}
{{- range .Values.bridge.env -}}
{{- if eq .name "BRIDGE_ROUTES_FILE" -}}
{{- fail "bridge.env: BRIDGE_ROUTES_FILE: the chart sets it for bridge.routes; give the one or the other" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $chart := dict "amqp.host" "0.0.0.0" "management.host" "0.0.0.0" -}}
{{- range $key, $value := merge $chart $options }}
{{ $key }}={{ include "amqp-kafka-bridge.value" $value }}
{{- end -}}
{{- end -}}
