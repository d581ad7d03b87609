/** Logos of QR codes, which a process without permissions reads from files. */
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { overloaded } from '../errors.ts'
import { isLogo, type Look } from './code.ts'

const problems = ['type', 'size', 'damaged', 'empty', 'unreadable'] as const
/** Why a file can't be a logo. */
export type LogoProblem = (typeof problems)[number]

export interface LogoRequest extends Pick<Look, 'dark' | 'background'> {
  readonly file: Buffer
  /** A short URL, whose code must be readable with the logo. */
  readonly text: string
}

/** The maximum file size in bytes. */
export const maxLogoFileBytes = 256 * 1024
/** How long reading a file may take. Milliseconds. */
const timeoutMs = 10_000

const module = fileURLToPath(new URL('./logo-reader.ts', import.meta.url))

/** The options of Node: the process may only read its own code, and has little memory, also for WebAssembly (64 KiB pages). */
export const processOptions: readonly string[] = [
  '--permission',
  ...[import.meta.url, import.meta.resolve('qr'), import.meta.resolve('@resvg/resvg-wasm')].map(
    (url) => `--allow-fs-read=${dirname(fileURLToPath(url))}/*`,
  ),
  '--max-old-space-size=64',
  '--wasm-max-mem-pages=2048',
]

/**
 * Reads a logo as `encodePng` writes it with the format `rgba`. Callers limit concurrent processes. Throws `overloaded` if the
 * process can't start.
 */
export async function readLogo(request: LogoRequest, timeout = timeoutMs): Promise<Buffer | LogoProblem> {
  const output = await runProcess(request, timeout)
  // An exploit of the decoder could write anything.
  if (output !== null && isLogo(output)) return output
  return problems.find((problem) => problem === output?.toString()) ?? 'damaged'
}

/** Returns the output of the process; null if it fails, takes too long or needs too much memory. */
function runProcess({ file, text, dark, background }: LogoRequest, timeout: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const words = [...processOptions, module, text, dark, background]
    const settings = { encoding: 'buffer', env: {}, timeout, killSignal: 'SIGKILL' } as const
    const child = execFile(process.execPath, words, settings, (error, stdout) => {
      if (error === null) resolve(stdout)
      // The code is text if the process could not start.
      else if (typeof error.code === 'string') reject(overloaded('The logo can’t be read now. Try again in a minute.'))
      else resolve(null)
    })
    // The process may end before it reads everything.
    child.stdin?.on('error', () => undefined).end(file)
  })
}
