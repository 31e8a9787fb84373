// `npm start`, once the dependencies are installed: builds what has changed, and becomes Gantry.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import './build-web.mjs'
import './build-cli.mjs'
import { bundle } from './build-server.mjs'
import { nameSources } from './source-lines.mjs'

if (bundle === undefined) {
  await import('../server/main.ts')
} else {
  nameSources(bundle)
  enableCompileCache(join(bundle, 'compiled'))
  const { runProcess } = await import(join(bundle, 'process.mjs'))
  await runProcess()
}
