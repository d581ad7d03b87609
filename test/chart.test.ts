/** The Helm chart. Rendering needs `helm` in the PATH, which the runners of CI have. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../src/config/config.ts'
import { variables } from '../src/config/variables.ts'
import { packageVersion } from '../src/version.ts'
import type { Json } from './client.ts'
import { newFolder } from './processes.ts'
import { repository } from './scripts.ts'

const chart = join(repository, 'deploy/helm')
const read = (file: string) => readFileSync(join(chart, file), 'utf8')
const values: Json = parse(read('values.yaml'))
const validate = new Ajv({ strictTypes: false }).compile(JSON.parse(read('values.schema.json')))
const isValid = (given: Json): boolean => validate(given)

test('the chart has the version of the package', () => {
  const { version: own, appVersion } = parse(read('Chart.yaml'))
  assert.deepEqual([own, appVersion], [packageVersion, packageVersion])
})

test('the schema accepts the defaults, and rejects unknown values and variables that the chart sets', () => {
  assert.ok(isValid(values), JSON.stringify(validate.errors))
  assert.equal(isValid({ ...values, replica: 1 }), false)
  for (const name of Object.keys(variables)) {
    const isOwn = /^(REDIRECT_|OPS_)?(HOST|PORT)$|^(WORKERS|DATABASE_URL|CLICKS_SPOOL)$/.test(name)
    assert.equal(isValid({ ...values, env: { [name]: '1' } }), !isOwn, name)
  }
  assert.equal(isValid({ ...values, env: { RATE_LIMIT: 5 } }), false)
})

const helm = spawnSync('helm', ['version']).status === 0

/** Renders the chart. Returns the objects by kind. */
function render(t: TestContext, ...settings: readonly string[]): Json {
  const home = newFolder(t)
  const args = ['template', 'links', chart, '--set', 'image.repository=registry.example.com/waymark']
  const { status, stdout, stderr } = spawnSync('helm', [...args, ...settings.flatMap((each) => ['--set', each])], {
    encoding: 'utf8',
    env: { ...process.env, HOME: home, XDG_CACHE_HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home },
  })
  assert.equal(status, 0, stderr)
  const objects: Json[] = parseAllDocuments(stdout).map((document) => document.toJS())
  return Object.groupBy(objects, ({ kind }) => kind)
}

/** Checks the pod, and returns its variables. */
function checkPod({ spec, metadata }: Json, selector: Json): Record<string, string> {
  for (const [label, value] of Object.entries(selector)) assert.equal(metadata.labels[label], value)
  assert.equal(spec.securityContext.runAsNonRoot, true)
  const [container, ...more] = spec.containers
  assert.equal(more.length, 0)
  assert.equal(container.image, `registry.example.com/waymark:${packageVersion}`)
  const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext
  assert.deepEqual([allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities], [false, true, { drop: ['ALL'] }])
  assert.ok(spec.terminationGracePeriodSeconds >= 20)
  const ports = container.ports.map(({ name, containerPort }: Json) => [name, String(containerPort)])
  const { PORT, REDIRECT_PORT, OPS_PORT } = variables
  assert.deepEqual(ports, [
    ['api', PORT[0]],
    ['redirect', REDIRECT_PORT[0]],
    ['ops', OPS_PORT[0]],
  ])
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    assert.equal(container[probe].httpGet.port, 'ops')
  }
  return Object.fromEntries(container.env.map(({ name, value }: Json) => [name, value]))
}

const needsHelm = { skip: helm ? false : 'helm is not in the PATH' }

test('without a database, the chart has a StatefulSet with a volume', needsHelm, (t) => {
  const { StatefulSet, Deployment, Service, Ingress } = render(t, 'env.LOG_LEVEL=warn')
  assert.deepEqual([Deployment, Ingress], [undefined, undefined])
  const { spec } = StatefulSet[0]
  const env = checkPod(spec.template, spec.selector.matchLabels)
  assert.equal(readConfig(env).logLevel, 'warn')
  assert.equal(spec.replicas, 1)
  const [claim] = spec.volumeClaimTemplates
  const mounts = spec.template.spec.containers[0].volumeMounts
  assert.equal(mounts.find(({ name }: Json) => name === claim.metadata.name).mountPath, '/data')
  assert.deepEqual(
    Service.map(({ spec }: Json) => spec.type),
    ['ClusterIP', 'ClusterIP'],
  )
})

test('with PostgreSQL, the chart has a Deployment that reads the URL from a secret', needsHelm, (t) => {
  const { StatefulSet, Deployment } = render(t, 'database.existingSecret=links-db', 'replicas=3')
  assert.equal(StatefulSet, undefined)
  const { spec } = Deployment[0]
  const { DATABASE_URL_FILE, ...env } = checkPod(spec.template, spec.selector.matchLabels)
  assert.equal(spec.replicas, 3)
  const [container] = spec.template.spec.containers
  const mount = container.volumeMounts.find(({ name }: Json) => name === 'database')
  assert.equal(DATABASE_URL_FILE, `${mount.mountPath}/url`)
  const file = join(newFolder(t), 'url')
  writeFileSync(file, 'postgres://waymark:s3cret@db.example.com/waymark')
  assert.equal(readConfig({ ...env, DATABASE_URL_FILE: file }).storage.engine, 'postgres')
  const volumes = spec.template.spec.volumes.map(({ name }: Json) => name)
  assert.deepEqual(container.volumeMounts.map(({ name }: Json) => name).sort(), volumes.sort())
})

test(
  'the ingress sends the hosts of short links to the redirect server, and none to the ops listener',
  needsHelm,
  (t) => {
    const hosts = ['ingress.redirectHosts[0].host=go.example.com', 'ingress.redirectHosts[0].tlsSecret=go']
    const { Ingress } = render(t, 'ingress.host=links.example.com', 'ingress.tlsSecret=links', ...hosts)
    const { rules, tls } = Ingress[0].spec
    const ports = rules.map(({ host, http }: Json) => [host, http.paths[0].backend.service.port.name])
    assert.deepEqual(ports, [
      ['links.example.com', 'api'],
      ['go.example.com', 'redirect'],
    ])
    assert.deepEqual(
      tls.map(({ secretName }: Json) => secretName),
      ['links', 'go'],
    )
  },
)

test('the chart asks for the repository of the image', needsHelm, () => {
  const { status, stderr } = spawnSync('helm', ['template', 'links', chart], { encoding: 'utf8' })
  assert.notEqual(status, 0)
  assert.match(stderr, /Set image\.repository to the repository that has your image\./)
})
