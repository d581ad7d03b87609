{{- define "waymark.name" -}}
{{- if contains "waymark" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-waymark{{ end }}
{{- end }}

{{- define "waymark.selector" -}}
app.kubernetes.io/name: waymark
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "waymark.labels" -}}
{{ include "waymark.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The pod, which is the same with both databases but for the volume of /data. */ -}}
{{- define "waymark.pod" -}}
metadata:
  labels:
    {{- include "waymark.labels" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  # Requests in progress may take 10 s to finish, and closing the database 8 s more.
  terminationGracePeriodSeconds: 30
  containers:
    - name: waymark
      image: {{ required "Set image.repository to the repository that has your image." .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        # For probes and Prometheus. No ingress has this port.
        - name: OPS_HOST
          value: 0.0.0.0
        {{- if .Values.database.existingSecret }}
        # In place of the URL of the image.
        - name: DATABASE_URL
          value: ''
        - name: DATABASE_URL_FILE
          value: /run/secrets/database/{{ .Values.database.key }}
        - name: CLICKS_SPOOL
          value: /data/clicks-spool
        {{- end }}
        {{- range $name, $value := .Values.env }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: api
          containerPort: 3000
        - name: redirect
          containerPort: 3080
        - name: ops
          containerPort: 3090
      # A first start may migrate the database.
      startupProbe:
        httpGet:
          path: /health/live
          port: ops
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet:
          path: /health/live
          port: ops
        timeoutSeconds: 5
      readinessProbe:
        httpGet:
          path: /health/ready
          port: ops
        periodSeconds: 5
        timeoutSeconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- if .Values.database.existingSecret }}
        - name: database
          mountPath: /run/secrets/database
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if .Values.database.existingSecret }}
    # Only raw clicks that wait for CLICKS_SINK.
    - name: data
      emptyDir: {}
    - name: database
      secret:
        secretName: {{ .Values.database.existingSecret }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
