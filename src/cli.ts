/** `npm run -s waymark -- …`: what an operator does at the database that the server uses. */
import { runCli } from './cli/run.ts'

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader that has read enough, such as `head`, is no failure.
  if (code === 'EPIPE') process.exit()
  process.stderr.write(`The standard output cannot be written: ${message}. What was to be done may have been done.\n`)
  process.exit(1)
})
process.exitCode = await runCli(process.argv.slice(2), {
  input: () => process.stdin,
  out: process.stdout,
  err: process.stderr,
})
