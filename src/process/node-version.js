/**
 * Ends a process that runs under an older Node, with a sentence. In JavaScript, and imported before any TypeScript: an
 * older Node fails at the first file of that kind, with a stack about its extension.
 */
if (Number.parseInt(process.versions.node, 10) < 26) {
  process.stderr.write(
    `Waymark runs on Node 26, and this is Node ${process.versions.node}. Run "npm ci" once, which brings Node 26 along; then "npm start" and "npx waymark" use it.\n`,
  )
  process.exit(1)
}
