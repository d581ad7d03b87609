/**
 * Runs inside a measured server before its code, and reports the used resources to the bench over IPC. Ends the server when
 * the bench exits. This is JavaScript, because the type stripper would add memory.
 */
import { isMainThread } from 'node:worker_threads'

/** The precision of measured event-loop ticks. */
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
