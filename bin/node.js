/** `node bin/node.js …`: Node 26 or newer with these arguments, for the scripts of package.json and `node bin/node.js --test FILE`. */
import { launch } from './launch.js'

launch(process.argv.slice(2))
