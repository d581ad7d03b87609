/** `npm run -s waymark -- …`: what an operator does at the database that the server uses. */
import { runCli } from './cli/run.ts'

// A reader that has read enough, such as `head`, is no failure.
process.stdout.on('error', () => process.exit())
process.exitCode = await runCli(process.argv.slice(2), {
  input: () => process.stdin,
  out: process.stdout,
  err: process.stderr,
})
