// `npm start`, once the dependencies are installed: builds what has changed, and becomes Gantry.
import { enableCompileCache, setSourceMapsSupport } from 'node:module'
import { join } from 'node:path'
import './build-web.mjs'
import './build-cli.mjs'
import { bundle } from './build-server.mjs'

if (bundle === undefined) {
  await import('../server/main.ts')
} else {
  // Stack traces name the sources.
  setSourceMapsSupport(true, { nodeModules: true })
  enableCompileCache(join(bundle, 'compiled'))
  const { runProcess } = await import(join(bundle, 'process.mjs'))
  await runProcess()
}
