/**
 * Runs inside a measured server, before its own code, and tells the bench over IPC what the process has used. Ends the
 * server when the bench is gone.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/** What a process has used since it started, in microseconds and bytes. */
export interface Usage {
  /** Processor time of all its threads. */
  readonly cpu: number
  /** Processor time of the thread with the event loop. */
  readonly loopCpu: number
  readonly rss: number
  readonly peakRss: number
  /** The longest that the event loop was held since the question before, in milliseconds. */
  readonly longestHold: number
}

const resolutionMs = 1

if (isMainThread && process.send !== undefined) observe()

function observe(): void {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  process.on('message', (message) => {
    if (message !== 'usage') return
    const cpu = process.cpuUsage()
    const loop = process.threadCpuUsage()
    const usage: Usage = {
      cpu: cpu.user + cpu.system,
      loopCpu: loop.user + loop.system,
      rss: process.memoryUsage.rss(),
      peakRss: process.resourceUsage().maxRSS * 1024,
      longestHold: Math.max(0, delays.max / 1e6 - resolutionMs),
    }
    delays.reset()
    process.send?.(usage)
  })
  process.on('disconnect', () => process.exit())
  process.channel?.unref()
}
