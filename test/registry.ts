/** A package registry on this machine, which serves the packages of node_modules. Tests may not use the internet. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Bench, newFolder } from './processes.ts'
import { repository } from './scripts.ts'

interface Served {
  readonly manifest: { readonly name: string; readonly version: string }
  readonly folder: string
}

/** Starts the registry. Returns its URL. The package of Node has a program that starts the Node of this process. */
export async function startRegistry(t: Bench): Promise<string> {
  const folder = newFolder(t)
  const packages = installedPackages().map((served) =>
    /^node-/.test(served.manifest.name) ? withStandInForNode(served, folder) : served,
  )
  const server = createServer(async ({ url = '' }, response) => {
    const [name = '', version] = decodeURIComponent(url.slice(1)).split('?')
    const found = packages.filter(({ manifest }) => manifest.name === name)
    const chosen = found.find(({ manifest }) => manifest.version === version)
    if (chosen !== undefined) response.end(await tarballOf(chosen, folder))
    else response.writeHead(found.length > 0 ? 200 : 404).end(JSON.stringify(describePackage(name, found, origin)))
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return origin
}

/** Returns the installed production dependencies. Packages for other platforms are missing. */
function installedPackages(): Served[] {
  const { packages } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8'))
  return Object.entries<{ dev?: true }>(packages)
    .filter(([path, { dev }]) => path !== '' && !dev && existsSync(join(repository, path)))
    .map(([path]) => {
      const folder = join(repository, path)
      return { folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }
    })
}

/** Returns a small package instead of one with 130 MB. */
function withStandInForNode({ manifest }: Served, parent: string): Served {
  const folder = join(parent, manifest.name)
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'bin/node'), `#!/bin/sh\nexec '${process.execPath}' "$@"\n`, { mode: 0o755 })
  return { manifest, folder }
}

function describePackage(name: string, found: readonly Served[], origin: string) {
  const versions = found.map(({ manifest }) => {
    const tarball = `${origin}/${encodeURIComponent(name)}?${manifest.version}`
    return [manifest.version, { ...manifest, dist: { tarball } }] as const
  })
  return { name, 'dist-tags': { latest: versions[0]?.[0] }, versions: Object.fromEntries(versions) }
}

/** Packs a folder as npm does, without the packages below it. */
async function tarballOf({ manifest, folder }: Served, parent: string): Promise<Buffer> {
  const staging = join(parent, `${manifest.name.replace('/', '-')}-${manifest.version}`)
  mkdirSync(staging)
  symlinkSync(folder, join(staging, 'package'))
  const options = ['--create', '--dereference', '--exclude', 'package/node_modules', '--directory', staging]
  const { stdout } = await promisify(execFile)('tar', [...options, 'package'], {
    encoding: 'buffer',
    maxBuffer: 100_000_000,
  })
  return stdout
}
