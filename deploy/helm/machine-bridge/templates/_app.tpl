{{/*
Everything of one app: settings, files, Deployment, Service, PodDisruptionBudget.
Called with root, app (bridge, terminal or ingest), values (of the app) and port.
*/}}
{{- define "machine-bridge.app" -}}
{{- $name := include "machine-bridge.name" . -}}
{{- $scheme := ternary ", scheme: HTTPS" "" (has "INGEST_TLS_CERT" .values.secret.keys) -}}
{{- /* The bridge's settings that an app also gets may name the bridge's files. */ -}}
{{- $bridgeFiles := ternary (dict) .root.Values.files (eq .app "bridge") -}}
{{- $restartsOn := printf "%s%s%s" (include "machine-bridge.settings" .) (toYaml .values.files) (toYaml $bridgeFiles) -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  labels: {{- include "machine-bridge.labels" . | nindent 4 }}
data: {{- include "machine-bridge.settings" . | nindent 2 }}
{{- with .values.files }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}-files
  labels: {{- include "machine-bridge.labels" $ | nindent 4 }}
data: {{- toYaml . | nindent 2 }}
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "machine-bridge.labels" . | nindent 4 }}
spec:
  {{- if or (ne .app "bridge") (eq .root.Values.autoscaling.type "none") }}
  replicas: {{ .values.replicas }}
  {{- end }}
  strategy:
    type: RollingUpdate
    # One pod too few loses nothing: the others take over its partitions, and messages wait in Kafka.
    rollingUpdate: { maxSurge: 1, maxUnavailable: 1 }
  selector:
    matchLabels: {{- include "machine-bridge.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "machine-bridge.labels" . | nindent 8 }}
        {{- with .root.Values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      annotations:
        checksum/settings: {{ sha256sum $restartsOn }}
        {{- with .root.Values.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # A stop takes 14 s at most.
      terminationGracePeriodSeconds: 20
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        # reads the files of the Secret
        fsGroup: 1000
        seccompProfile: { type: RuntimeDefault }
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- range tuple "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "machine-bridge.selector" $ | nindent 14 }}
        {{- end }}
      containers:
        - name: {{ .app }}
          image: {{ printf "%s:%s" .values.image.repository (.values.image.tag | default .root.Chart.AppVersion) }}
          imagePullPolicy: {{ .values.image.pullPolicy }}
          envFrom:
            - configMapRef: { name: {{ $name }} }
          ports:
            - { name: http, containerPort: {{ .port }} }
          {{- if eq .app "ingest" }}
          # New requests still come for a moment while the pod is taken out of the Service.
          lifecycle:
            preStop: { exec: { command: [node, -e, 'setTimeout(() => {}, 5000)'] } }
          {{- end }}
          # live, not ready: a restart cures neither an outage of Kafka nor one of the service.
          startupProbe:
            httpGet: { path: /health/live, port: http{{ $scheme }} }
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /health/live, port: http{{ $scheme }} }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /health/ready, port: http{{ $scheme }} }
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 3
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            - { name: secrets, mountPath: /run/secrets/machine-{{ .app }}, readOnly: true }
            {{- if .values.files }}
            - { name: files, mountPath: /etc/machine-{{ .app }}, readOnly: true }
            {{- end }}
            {{- if $bridgeFiles }}
            - { name: bridge-files, mountPath: /etc/machine-bridge, readOnly: true }
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: { medium: Memory, sizeLimit: 16Mi }
        - name: secrets
          secret:
            secretName: {{ .values.secret.name }}
            defaultMode: 0440
            {{- with .values.secret.keys }}
            items:
              {{- range . }}
              - { key: {{ . }}, path: {{ . }} }
              {{- end }}
            {{- end }}
        {{- if .values.files }}
        - name: files
          configMap: { name: {{ $name }}-files }
        {{- end }}
        {{- if $bridgeFiles }}
        - name: bridge-files
          configMap: { name: {{ include "machine-bridge.name" (dict "root" .root "app" "bridge") }}-files }
        {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "machine-bridge.labels" . | nindent 4 }}
spec:
  selector: {{- include "machine-bridge.selector" . | nindent 4 }}
  {{- if ne .app "ingest" }}
  # The API answers while a flow is paused, when the pod is not ready.
  publishNotReadyAddresses: true
  {{- end }}
  ports:
    - { name: http, port: {{ .port }}, targetPort: http }
{{- if .root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "machine-bridge.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  # During an outage of the service no pod is ready; nodes can still be drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "machine-bridge.selector" . | nindent 6 }}
{{- end }}
{{- end }}
