/**
 * Runs inside a measured server, before its own code, and tells the bench over IPC what the process has used. Ends the
 * server when the bench is gone. Not TypeScript, so that what strips types takes no memory on its account.
 */
import { isMainThread } from 'node:worker_threads'

/** A hold is known to be at least as long as measured, and at most this much longer. */
const sampleEveryMs = 2

// Threads of the server run this file too.
if (isMainThread && process.send !== undefined) observe()

function observe() {
  let sampledAt = performance.now()
  let longestTick = 0
  // Not `monitorEventLoopDelay`, which drops the first delay after each reset.
  const sample = () => {
    const now = performance.now()
    longestTick = Math.max(longestTick, now - sampledAt - sampleEveryMs)
    sampledAt = now
  }
  setInterval(sample, sampleEveryMs).unref()
  process.on('message', (message) => {
    if (message !== 'usage') return
    sample()
    const cpu = process.cpuUsage()
    const loop = process.threadCpuUsage()
    // As `Usage` in servers.ts.
    process.send?.({
      cpu: cpu.user + cpu.system,
      loopCpu: loop.user + loop.system,
      rss: process.memoryUsage.rss(),
      peakRss: process.resourceUsage().maxRSS * 1024,
      longestTick,
    })
    longestTick = 0
  })
  process.on('disconnect', () => process.exit())
  process.channel?.unref()
}
