/** Ends the process under an older Node. JavaScript and imported first, because an older Node can't load TypeScript. */
if (Number.parseInt(process.versions.node, 10) < 26) {
  process.stderr.write(
    `Waymark runs on Node 26, and this is Node ${process.versions.node}. Run "npm ci" once, which brings Node 26 along; then "npm start" and "npx waymark" use it.\n`,
  )
  process.exit(1)
}
