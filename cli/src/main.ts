// The entry point. The version is asked for often, by scripts and prompts, and needs nothing else to be loaded.
import { VERSION } from './version.ts'

const [argument] = process.argv.slice(2)
if (process.argv.length === 3 && ['version', '--version', '-V'].includes(argument!))
  process.stdout.write(`gantry ${VERSION}\n`)
else {
  const { start } = await import('./start.ts')
  process.exitCode = await start(process.argv)
}
