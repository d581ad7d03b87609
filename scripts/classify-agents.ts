/**
 * Compares the classification of visitors with a list: `node bin/node.js scripts/classify-agents.ts person|bot FILE…`. A
 * file has a user agent in each line, or is a list of crawler-user-agents (.json), or a fixture of device-detector (.yml).
 * Prints how many agents have the class; of the others, the class and the agent. Previews are bots here.
 */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { classifyAgent } from '../src/analytics/capture/visit.ts'

/** An entry of either list. */
interface Entry {
  readonly instances?: readonly string[]
  readonly user_agent?: string
}

function agentsIn(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8')
  if (!/\.(?:json|yml)$/.test(path)) return text.split(/\r?\n/).filter(Boolean)
  const entries: readonly Entry[] = path.endsWith('.json') ? JSON.parse(text) : parse(text)
  return entries.flatMap(({ instances, user_agent }) => instances ?? user_agent ?? [])
}

const [expected, ...paths] = process.argv.slice(2)
const agents = new Set(paths.flatMap(agentsIn))
const others = [...agents].filter((agent) => (classifyAgent('GET', agent) === 'person') !== (expected === 'person'))
const lines = others.map((agent) => `${classifyAgent('GET', agent)}\t${agent}\n`)
process.stdout.write(`${expected}: ${agents.size - others.length} of ${agents.size}\n${lines.join('')}`)
