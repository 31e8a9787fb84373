// What the tests of this room share. Everything is real: git, folders, processes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, readlink, realpath, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { later } from '#test/support/later.ts'
import type { Timeouts } from './access.ts'
import type { Remote } from './address.ts'
import type { RemoteVerdict } from './contact.ts'
import { createRepositories, type Repositories } from './repositories.ts'
import type { Resolved, ResolveRequest } from './resolve.ts'

type Closer = { after(fn: () => Promise<void>): void }

export const asRoot = process.getuid?.() === 0
export const never = new AbortController().signal

export async function temporaryFolder(t: Closer): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-test-')))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  return folder
}

export type Opened = Repositories & {
  folder: string
  /** The lines for people, all requests together. */
  lines: string[]
  /** Application 1, branch main, unless said otherwise. */
  take(request: Partial<ResolveRequest>): Promise<Resolved>
  /** The hash, or the reason in capitals and the message: one text to compare. */
  hashOf(request: Partial<ResolveRequest>): Promise<string>
}

export async function openRepositories(
  t: Closer,
  options: {
    folder?: string
    verdict?: (remote: Remote) => RemoteVerdict
    timeouts?: Partial<Timeouts>
    maxBytes?: number
  } = {},
): Promise<Opened> {
  const folder = options.folder ?? join(await temporaryFolder(t), 'mirrors')
  const { verdict = () => ({ kind: 'allowed' as const }), timeouts, maxBytes } = options
  const allowRemote = async (remote: Remote) => verdict(remote)
  const repositories = createRepositories({ folder, allowRemote, timeouts, maxBytes })
  const lines: string[] = []
  const take = (request: Partial<ResolveRequest>) =>
    repositories.resolve({
      applicationId: 1,
      repository: '',
      token: null,
      source: { type: 'branch', ref: 'main' },
      signal: never,
      onLine: (line) => lines.push(line),
      ...request,
    })
  return {
    ...repositories,
    folder,
    lines,
    take,
    async hashOf(request) {
      const resolved = await take(request)
      if (resolved.kind === 'resolved') return resolved.commit.hash
      return `${resolved.kind.toUpperCase()} ${resolved.message}`
    },
  }
}

/** Path → content; `x: ` before that of an executable, `-> target` for a link. */
export async function unpack(t: Closer, archive: Readable): Promise<Record<string, string>> {
  const folder = await unpackInto(t, archive)
  return Object.fromEntries(await readTree(folder, ''))
}

export async function unpackInto(t: Closer, archive: Readable): Promise<string> {
  const folder = await temporaryFolder(t)
  const tar = spawn('tar', ['-x', '-C', folder], { stdio: ['pipe', 'ignore', 'inherit'] })
  const [piped, [code]] = await Promise.all([pipeline(archive, tar.stdin).catch(asError), once(tar, 'close')])
  // Tar exits when it has read the last entry, which may be before the end of the stream.
  if (code !== 0) throw piped ?? new Error(`tar ended with ${code}`)
  return folder
}

function asError(error: Error): Error {
  return error
}

async function readTree(folder: string, below: string): Promise<[string, string][]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true })
  const read = entries.map(async (entry): Promise<[string, string][]> => {
    const path = join(below, entry.name)
    const file = join(folder, path)
    if (entry.isDirectory()) return readTree(folder, path)
    if (entry.isSymbolicLink()) return [[path, `-> ${await readlink(file)}`]]
    const isExecutable = ((await stat(file)).mode & 0o100) !== 0
    return [[path, `${isExecutable ? 'x: ' : ''}${await readFile(file, 'utf8')}`]]
  })
  return (await Promise.all(read)).flat()
}

/** Of all processes; those that end meanwhile are left out. */
export async function commandLines(): Promise<string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const texts = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')))
  return texts.filter((text) => text !== '').map((text) => text.replaceAll('\0', ' '))
}

/** As after a error of the disk. Git writes its packs read-only. */
export async function cutFile(path: string, length: number): Promise<void> {
  await chmod(path, 0o600)
  await truncate(path, length)
}

/** All files below a folder that hold this text. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const found: string[] = []
  for (const path of paths) {
    const content = await readFile(path).catch(() => Buffer.alloc(0))
    if (content.includes(text)) found.push(path)
  }
  return found
}

export async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`)
    await pause(20)
  }
}
