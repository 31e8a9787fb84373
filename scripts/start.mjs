// `npm start`, once the dependencies are installed: builds what has changed, and becomes Gantry.
import './build-web.mjs'
import './build-cli.mjs'
import './build-guides.mjs'
import { bundle } from './build-server.mjs'
import { runBundle } from './run-bundle.mjs'

if (bundle === undefined) await import('../server/main.ts')
else await runBundle(bundle)
