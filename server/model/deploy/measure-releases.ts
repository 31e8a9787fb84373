import { readScript } from '#platform/scripts.ts'
import { assertReleaseName, type DeployCommand, isReleaseName } from './layout.ts'
import { plainCommand } from './shell.ts'

const MEASURE = readScript('./measure-releases.sh', import.meta.url)

/** Those that are left wait for the next deploy. */
const MAX_AT_ONCE = 5
/** Of one release. Folders with millions of files stay unmeasured. */
const SECONDS = 5

/** No longer than this, whatever the disk is like. */
export const MEASURE_MS = (MAX_AT_ONCE * SECONDS + 5) * 1_000

/** How much of the disk releases take; what is shared is not counted. Its output is for `readSizes`. */
export function measureReleases(base: string, names: readonly string[]): DeployCommand {
  const some = names.slice(0, MAX_AT_ONCE).map(assertReleaseName)
  const values = { GANTRY_RELEASES: some.join(' '), GANTRY_MEASURE_SECONDS: String(SECONDS) }
  return plainCommand(base, MEASURE, values)
}

/** In bytes, by name; without those that could not be measured. */
export function readSizes(output: string): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const line of output.split('\n')) {
    const [word, name = '', bytes = '', ...rest] = line.split(' ')
    const isOurs = word === 'gantry-size' && rest.length === 0 && isReleaseName(name)
    if (isOurs && /^\d{1,15}$/.test(bytes)) sizes.set(name, Number(bytes))
  }
  return sizes
}
