/** The worker thread of src/lib/worker-client.test.ts. */
import { workerData } from 'node:worker_threads'
import { overloaded } from '../src/errors.ts'
import { sendNotice, serveRequests } from '../src/lib/worker-server.ts'

export type WorkerRequest = { readonly echo: string } | { readonly fail: string } | { readonly crash: true }

let finish = () => {}
const held = new Promise<void>((resolve) => {
  finish = resolve
})

serveRequests<WorkerRequest, string>({
  async handle(request) {
    if ('fail' in request) throw new AggregateError([overloaded(request.fail), new TypeError(request.fail)], 'several')
    if ('crash' in request) process.exit(1)
    if (request.echo === 'hold') await held
    if (request.echo === 'finish') finish()
    if (request.echo === 'notify') sendNotice({ from: workerData })
    return request.echo
  },
  close: () => sendNotice({ from: 'close' }),
})
