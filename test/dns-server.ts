/** A DNS server with the records of a test. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { DnsOptions } from '../src/reachability/dns.ts'
import type { Bench } from './processes.ts'

const types = { A: 1, CNAME: 5, AAAA: 28 } as const
type Type = keyof typeof types

/** The values of a name by type, or a failure. */
export type Zone = Partial<Record<Type, readonly string[] | 'silence' | 'failure'>>

/** Starts a server on a free port. Names without a zone do not exist. The first `lost` queries get no response. */
export async function startDns(
  t: Bench,
  zones: Readonly<Record<string, Zone>>,
  { timeoutMs = 10_000, lost = 0 } = {},
): Promise<DnsOptions> {
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  let left = lost
  socket.on('message', (query, from) => {
    const { name, code, end } = questionOf(query)
    const zone = zones[name]
    const type = (Object.keys(types) as Type[]).find((one) => types[one] === code) as Type
    const values = zone?.[type] ?? []
    if (left-- > 0 || values === 'silence') return
    const status = zone === undefined ? nameError : values === 'failure' ? serverFailure : 0
    const records = typeof values === 'string' ? [] : values.map((value) => recordOf(types[type], value))
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180 | status, 2)
    head.writeUInt16BE(records.length, 6)
    // Drops the additional records of the query.
    head.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { timeoutMs, servers: [`127.0.0.1:${socket.address().port}`] }
}

const serverFailure = 2
const nameError = 3

function questionOf(query: Buffer): { readonly name: string; readonly code: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] as number; length > 0; length = query[at] as number) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), code: query.readUInt16BE(at + 1), end: at + 5 }
}

/** A record of the name in the question. */
function recordOf(code: number, value: string): Buffer {
  const data = code === types.CNAME ? nameOf(value) : addressOf(value)
  const head = Buffer.from([0xc0, 12, 0, code, 0, 1, 0, 0, 0, 60, 0, data.length])
  return Buffer.concat([head, data])
}

function nameOf(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

function addressOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number))
  const [before = [], after = []] = address.split('::').map((groups) => groups.split(':').filter(Boolean))
  const groups = [...before, ...Array(8 - before.length - after.length).fill('0'), ...after]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
