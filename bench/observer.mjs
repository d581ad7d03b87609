/**
 * Runs inside a measured server, before its own code, and tells the bench over IPC what the process has used. Ends the
 * server when the bench is gone. Not TypeScript, so that what strips types takes no memory on its account.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

const resolutionMs = 1

// Threads of the server run this file too.
if (isMainThread && process.send !== undefined) observe()

function observe() {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  process.on('message', (message) => {
    if (message !== 'usage') return
    const cpu = process.cpuUsage()
    const loop = process.threadCpuUsage()
    // As `Usage` in servers.ts.
    process.send?.({
      cpu: cpu.user + cpu.system,
      loopCpu: loop.user + loop.system,
      rss: process.memoryUsage.rss(),
      peakRss: process.resourceUsage().maxRSS * 1024,
      longestHold: Math.max(0, delays.max / 1e6 - resolutionMs),
    })
    delays.reset()
  })
  process.on('disconnect', () => process.exit())
  process.channel?.unref()
}
