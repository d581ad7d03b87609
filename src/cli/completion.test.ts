import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { commandsWith } from '../../test/command-line.ts'
import { newFolder } from '../../test/processes.ts'

const { say } = commandsWith({})

test('completes commands, options, values and files in bash', async (t) => {
  const lines = [
    ['waymark li', 'links'],
    ['waymark tags ', 'create list update delete merge --help'],
    ['waymark help tags me', 'merge'],
    ['waymark links list --status s', 'scheduled'],
    ['waymark links create --title ', ''],
    ['waymark links create https://acme.com --arch', '--archived'],
    ['waymark completion z', 'zsh'],
    ['waymark export cl', 'clicks clips.csv'],
    ['waymark links qr a --output cl', 'clips.csv'],
    ['waymark backup --f', '--force'],
  ] as const
  const tries = lines.map(([line]) => {
    const words = line.split(' ')
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length - 1} COMPREPLY=()
_waymark; echo "\${COMPREPLY[*]}"`
  })
  // Only a shell that completes a line has `compopt`.
  const script = `${await say('completion bash')}\ncompopt() { :; }\ntouch clips.csv\n${tries.join('\n')}\ncomplete -p waymark\n`
  const output = execFileSync('bash', ['--norc'], { input: script, cwd: newFolder(t), encoding: 'utf8' })
  assert.deepEqual(output.trimEnd().split('\n'), [...lines.map(([, words]) => words), 'complete -F _waymark waymark'])
})

test('completes every option of the help in zsh and fish, with its description in fish', async () => {
  const [zsh, fish] = [await say('completion zsh'), await say('completion fish')]
  assert.match(zsh, /^ {4}' tags merge'\) list='--help --into --yes --json --account' ;;$/m)
  assert.match(zsh, /\ncompdef _waymark waymark$/)
  const state = `complete -c waymark -n 'test "$(__waymark_state)" = " links`
  assert.ok(fish.includes(`${state} export"' -l format -x -a 'csv jsonl' -d 'the format: `), fish)
  assert.ok(fish.includes(`${state} export"' -F\n`))
  assert.ok(fish.includes(`${state} update"' -l forward-query -x -a 'true false' -d 'if true, the visitor\\'s query `))
})
