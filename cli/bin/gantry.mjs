#!/usr/bin/env node
import { existsSync } from 'node:fs'

// A checkout has the sources, which may be newer than what was built from them; a package has neither.
const build = new URL('../../scripts/build-cli.mjs', import.meta.url)
const program = new URL('../dist/gantry.mjs', import.meta.url)
if (existsSync(build)) await import(build.href)
if (existsSync(program)) await import(program.href)
else {
  console.error('gantry: The command line is not built. Run `npm ci` in the checkout, then try again.')
  process.exitCode = 1
}
