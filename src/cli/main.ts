/** The process of the command line. */
import { runCli } from './run.ts'

process.stdout.on('error', onOutputError)
process.exitCode = await runCli(process.argv.slice(2), {
  input: () => process.stdin,
  out: process.stdout,
  err: process.stderr,
  serve: async () => {
    // The server keeps running if its output can't be written.
    process.stdout.off('error', onOutputError)
    const { serve } = await import('../process/serve.ts')
    await serve()
  },
})

function onOutputError({ code, message }: NodeJS.ErrnoException): never {
  // A reader such as `head` closes the pipe when it has enough.
  if (code === 'EPIPE') process.exit()
  process.stderr.write(`The standard output cannot be written: ${message}. The command may have taken effect.\n`)
  process.exit(1)
}
