/** The files around the code: the changelog, the upgrade notes, and the issue forms. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { version } from '../src/version.ts'
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
  for (const [name, pinned] of Object.entries(optionalDependencies)) {
    assert.ok(policy.includes(`\`${name}\``), name)
    assert.ok(policy.includes(`node:${pinned}-slim`))
    assert.ok(policy.includes(`/v${pinned}/`))
  }
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
