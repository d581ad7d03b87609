/**
 * A real headless Chromium for tests. It comes inside an npm package, compressed, with the libraries and the font that
 * a bare system lacks; it is unpacked once.
 */
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { createBrotliDecompress } from 'node:zlib'
import type { Browser } from 'playwright-core'

const { env } = process

/** Why there is no Chromium here; undefined when there is one. */
export function whyNoChromium(): string | undefined {
  if (env.CHROMIUM_PATH || (process.platform === 'linux' && process.arch === 'x64' && hasGlibc())) return undefined
  const system = process.platform === 'linux' && !hasGlibc() ? 'linux without glibc' : process.platform
  return `no Chromium comes for ${system} on ${process.arch}: set CHROMIUM_PATH to one`
}

function hasGlibc(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime !== undefined
}

/**
 * Starts Chromium: the one of `CHROMIUM_PATH`, else the packaged one. Without a sandbox, as is Playwright's way: root may
 * not have one, and nothing is visited but our own pages.
 */
export async function launchChromium(): Promise<Browser> {
  const { chromium } = await import('playwright-core')
  const launch = { headless: true, args: quiet }
  if (env.CHROMIUM_PATH) return chromium.launch({ ...launch, executablePath: env.CHROMIUM_PATH })
  const folder = await unpacked()
  return chromium.launch({
    ...launch,
    executablePath: join(folder, 'chromium'),
    args: [...quiet, '--disable-gpu', '--disable-dev-shm-usage'],
    env: { ...env, LD_LIBRARY_PATH: join(folder, 'lib'), FONTCONFIG_FILE: await fontConfiguration(folder) },
  })
}

let launched: Promise<Browser> | undefined
let holders = 0

/** Returns the browser that the test files of this process share. Call it between `holdChromium` and its release. */
export function sharedChromium(): Promise<Browser> {
  launched ??= launchChromium()
  return launched
}

/** Keeps the shared browser open until the last release. Returns the release. */
export function holdChromium(): () => Promise<void> {
  holders += 1
  return async () => {
    holders -= 1
    if (holders > 0) return
    const browser = await launched
    launched = undefined
    await browser?.close()
  }
}

/** The browser must ask for nothing but what the page asks for. */
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-pings',
]

interface Tar {
  /** Unpacks written bytes into the folder. */
  extract(folder: string, options: { readonly chown: boolean }): NodeJS.WritableStream
}

/** The folder with the unpacked browser. It appears whole or not at all, whoever else unpacks at the same time. */
async function unpacked(): Promise<string> {
  const module = import.meta.resolve('@sparticuz/chromium')
  const bin = join(dirname(fileURLToPath(module)), '../../bin')
  // Not every machine has a `tar`; the package brings one for itself.
  const { extract } = createRequire(module)('tar-fs') as Tar
  const cache = fileURLToPath(new URL('../node_modules/.cache/chromium', import.meta.url))
  const folder = join(cache, 'unpacked')
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const fresh = await mkdtemp(join(cache, 'unpacking-'))
  await decompress(join(bin, 'chromium.br'), createWriteStream(join(fresh, 'chromium')))
  await chmod(join(fresh, 'chromium'), 0o755)
  for (const archive of ['al2023.tar', 'fonts.tar']) {
    await decompress(join(bin, `${archive}.br`), extract(fresh, { chown: false }))
  }
  await rename(fresh, folder).catch(() => rm(fresh, { recursive: true }))
  return folder
}

/** The packaged one names folders of the service that the package was made for. */
async function fontConfiguration(folder: string): Promise<string> {
  const file = join(folder, 'fonts.conf')
  const fonts = `<dir>${join(folder, 'fonts')}</dir><cachedir>${join(folder, 'fonts-cache')}</cachedir>`
  await writeFile(
    file,
    `<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n<fontconfig>${fonts}</fontconfig>\n`,
  )
  return file
}

function decompress(from: string, to: NodeJS.WritableStream): Promise<void> {
  return pipeline(createReadStream(from), createBrotliDecompress(), to)
}
