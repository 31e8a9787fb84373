// Becomes Gantry, from the bundle in a folder.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { nameSources } from './source-lines.mjs'

export async function runBundle(folder) {
  nameSources(folder)
  enableCompileCache(join(folder, 'compiled'))
  const { runProcess } = await import(join(folder, 'process.mjs'))
  await runProcess()
}

if (import.meta.main) await runBundle(process.argv[2])
