/** The command line: `npx waymark …`, by way of bin/waymark.js, and `npm run -s waymark -- …`. */
import { rejectOlderNode } from './process/node-version.js'

rejectOlderNode()
const { runCli } = await import('./cli/run.ts')
process.stdout.on('error', onOutputError)
process.exitCode = await runCli(process.argv.slice(2), {
  input: () => process.stdin,
  out: process.stdout,
  err: process.stderr,
  serve: async () => {
    // The server keeps running if its output can't be written.
    process.stdout.off('error', onOutputError)
    const { serve } = await import('./process/serve.ts')
    await serve()
  },
})

/** @param {NodeJS.ErrnoException} error */
function onOutputError({ code, message }) {
  // A reader such as `head` closes the pipe when it has enough.
  if (code === 'EPIPE') process.exit()
  process.stderr.write(`Can't write to standard output: ${message}. The command may have taken effect.\n`)
  process.exit(1)
}
