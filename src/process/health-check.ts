/** The health check of the container image. Exits with 0 if the server is ready, otherwise prints the reason and exits with 1. */
import { formatLocalUrl, readHealthListener } from '../config/config.ts'
import { StartupFailure } from '../errors.ts'

try {
  const { status, text } = await readiness()
  process.stdout.write(`${status} ${text}\n`)
  process.exitCode = status === 200 ? 0 : 1
} catch (error) {
  if (!(error instanceof StartupFailure)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

async function readiness(): Promise<{ status: number; text: string }> {
  const listener = readHealthListener()
  if (listener.port === 0) {
    throw new StartupFailure('With PORT=0 and OPS_PORT=0, the server uses any free port. Set one of them.')
  }
  const url = formatLocalUrl(listener)
  try {
    const response = await fetch(`${url}${listener.name === 'ops' ? '/health/ready' : '/health'}`)
    return { status: response.status, text: await response.text() }
  } catch (error) {
    const { code, message } = (error as Error).cause as NodeJS.ErrnoException
    throw new StartupFailure(`${url} does not respond: ${code ?? message}.`)
  }
}
