// What the tests of this room share: the commands run in a real bash, on real folders, with archives made by git.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, lstat, mkdtemp, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { later } from '#test/support/later.ts'
import { type FileContent, makeRepository } from '#test/support/repository.ts'
import {
  type Attempt,
  activateRelease,
  checkAppEnvironment,
  extractRelease,
  finishRelease,
  takeLock,
} from './commands.ts'
import { baseFolder, type DeployCommand } from './layout.ts'
import { readSharedPaths } from './shared-paths.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type Ended = { code: number | null; output: string }

/** Names with everything that a careless command would stumble over. */
const HARD_NAME = `it's "my" $(shop)\n*; \\t -x`

export const attempt = (run: string, number = 1): Attempt => ({ run, number })
export const release = (day: number) => `202611${String(day).padStart(2, '0')}120000-0123abcd`

export async function temporaryFolder(t: Closer): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-deploy-')))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  await chmod(folder, 0o755)
  return folder
}

/** The base folder of an application that has been checked. */
export async function makeBase(t: Closer): Promise<string> {
  const base = baseFolder(join(await temporaryFolder(t), HARD_NAME), 'my shop')
  await demand(checkAppEnvironment(base))
  return base
}

export function start({ command, environment }: DeployCommand, uid?: number): ChildProcess {
  const env = { PATH: process.env.PATH, HOME: '/', ...environment }
  return spawn('/bin/bash', ['--norc', '-c', command], { env, uid, gid: uid, cwd: '/', detached: true })
}

export async function run(
  command: DeployCommand,
  { input = Buffer.alloc(0), uid }: { input?: Buffer; uid?: number } = {},
): Promise<Ended> {
  const child = start(command, uid)
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  child.stdin!.on('error', () => {}).end(input)
  const [code] = await once(child, 'close')
  return { code, output }
}

/** What a command that must succeed printed. */
export async function demand(command: DeployCommand, input?: Buffer): Promise<string> {
  const { code, output } = await run(command, { input })
  assert.equal(code, 0, output)
  return output
}

export async function archiveOf(t: Closer, files: Record<string, FileContent>): Promise<Buffer> {
  const { folder } = await makeRepository(t, { files })
  const args = ['--git-dir', folder, 'archive', '--format=tar', 'main']
  const { stdout } = await promisify(execFile)('git', args, { encoding: 'buffer', maxBuffer: 2 ** 26 })
  return stdout
}

export type Deploy = { who: Attempt; name: string; archive: Buffer; sharedPaths?: string[] }

/** Step 2; returns what its last command did. */
export async function fetchRelease(
  base: string,
  { who, name, archive, sharedPaths = [] }: Deploy,
): Promise<Ended> {
  const read = readSharedPaths(sharedPaths)
  assert.ok(read.kind === 'paths', JSON.stringify(read))
  await demand(takeLock(base, who))
  await demand(extractRelease(base, who, name), archive)
  return run(finishRelease(base, who, name, read.paths))
}

export async function deploy(base: string, request: Deploy): Promise<string> {
  const fetched = await fetchRelease(base, request)
  assert.equal(fetched.code, 0, fetched.output)
  return fetched.output + (await demand(activateRelease(base, request.who, request.name)))
}

/** Path → content, `-> target` of a link, `/` for an empty folder. */
export async function treeOf(folder: string, below = ''): Promise<Record<string, string>> {
  const tree: Record<string, string> = {}
  for (const name of (await readdir(join(folder, below))).sort()) {
    const path = join(below, name)
    const found = await lstat(join(folder, path))
    if (found.isSymbolicLink()) tree[path] = `-> ${await readlink(join(folder, path))}`
    else if (!found.isDirectory()) tree[path] = await readFile(join(folder, path), 'utf8')
    else {
      const inside = await treeOf(folder, path)
      Object.assign(tree, Object.keys(inside).length === 0 ? { [path]: '/' } : inside)
    }
  }
  return tree
}

export const releasesIn = async (base: string) => (await readdir(join(base, 'releases'))).sort()
export const liveIn = (base: string) => readlink(join(base, 'current')).catch(() => null)

/** Ends the command with everything that it started, as a crash would. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.stdin?.on('error', () => {})
  process.kill(-child.pid!, 'SIGKILL')
  child.stdin?.destroy()
  await closed
}
