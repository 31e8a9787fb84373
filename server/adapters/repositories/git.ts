import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

// Runs git: without a shell, without Gantry's environment, and with nothing left running.

export type GitCall = {
  args: string[]
  /** Always explicit: git could find the repository that Gantry itself was started from. */
  repository: string
  /** Access to a remote, for this call. Without it, no remote is allowed. */
  environment?: Record<string, string>
  input?: string
  /** For a repository that may be anything: no file, and no memory, beyond this. */
  limits?: Limits
  /** Ends git and everything it started; when all of it is gone, the call throws the signal's reason. */
  signal: AbortSignal
}

/** A repository on this machine, for as long as the signal allows. */
export type Repo = Pick<GitCall, 'repository' | 'signal'>

/** For git and each program that it starts. `memoryBytes` is address space; null: not limited. */
export type Limits = { fileBytes: number; memoryBytes: number | null }

type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>

const SETTINGS = fileURLToPath(new URL('./git.config', import.meta.url))
const MAX_OUTPUT = 4 * 1024 * 1024
const MAX_ERRORS = 16 * 1024
const GRACE_MS = 2_000

export class GitMissingError extends Error {
  override name = 'GitMissingError'
  override message = 'git is not installed on the machine that runs Gantry.'
}

/** The output of a short command, as text. */
export async function readGit(call: GitCall): Promise<{ code: number; output: string; errors: string }> {
  const chunks: Buffer[] = []
  let size = 0
  const { code, errors } = await runGit(call, async (output) => {
    for await (const chunk of output) {
      if (size < MAX_OUTPUT) chunks.push(chunk)
      size += chunk.length
    }
  })
  return { code, output: Buffer.concat(chunks).toString(), errors }
}

/** `read` is given what git prints, at its own pace. When it throws, git is ended and the error passed on. */
export async function runGit(call: GitCall, read: (output: Readable) => Promise<void>) {
  call.signal.throwIfAborted()
  const git = start(call)
  const ended = whenEnded(git)
  let kill: NodeJS.Timeout | undefined
  const stop = () => {
    signalGroup(git, 'SIGTERM') // git removes its unfinished files
    kill ??= setTimeout(() => signalGroup(git, 'SIGKILL'), GRACE_MS)
  }
  call.signal.addEventListener('abort', stop, { once: true })
  const errors = tail(git.stderr, MAX_ERRORS)
  const reading = read(git.stdout).catch((error: unknown) => {
    stop()
    git.stdout.destroy()
    throw error
  })
  // The exit code reports a git that ended without reading, not a broken pipe.
  git.stdin.on('error', () => {}).end(call.input ?? '')
  const [code, done, said] = await Promise.allSettled([ended, reading, errors])
  call.signal.removeEventListener('abort', stop)
  clearTimeout(kill)
  call.signal.throwIfAborted()
  if (code.status === 'rejected') throw code.reason
  if (done.status === 'rejected') throw done.reason
  if (call.limits && code.value === NO_PROGRAM) throw new GitMissingError()
  return { code: code.value, errors: said.status === 'fulfilled' ? said.value : '' }
}

function start(call: GitCall): GitProcess {
  const [program, ...args] = call.limits ? limited(call.limits, call.args) : ['git', ...call.args]
  return spawn(program!, args, {
    cwd: '/',
    env: { ...CLEAN, PATH: searchPath(), GIT_DIR: call.repository, ...call.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // its own process group, to be ended as a whole
  })
}

/** Node cannot set limits; a shell can. It is replaced by git, and no argument is part of its script. */
function limited({ fileBytes, memoryBytes }: Limits, args: string[]): string[] {
  const blocks = Math.ceil(fileBytes / 512)
  const kibibytes = memoryBytes === null ? 'unlimited' : Math.ceil(memoryBytes / 1024)
  return ['/bin/sh', '-c', LIMITED, 'git', String(blocks), String(kibibytes), ...args]
}

// Fails where the limit is lower already, and where the system has no such limit.
const LIMITED = 'ulimit -c 0; ulimit -f "$1"; ulimit -v "$2"; shift 2; exec git "$@"'
/** What a shell exits with when there is no such program. */
const NO_PROGRAM = 127

const CLEAN = {
  HOME: '/nonexistent', // no .netrc
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: SETTINGS,
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: '',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
}

/**
 * The folders of root come first. npm adds folders next to the checkout, and people those of their home: a local step
 * may be able to put a program named git there, and what runs here is not isolated.
 */
function searchPath(): string {
  const folders = (process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(':')
  const { roots = [], others = [] } = Object.groupBy(folders, (one) => (isOfRoot(one) ? 'roots' : 'others'))
  return [...roots, ...others].join(':')
}

function isOfRoot(folder: string): boolean {
  try {
    const { uid, mode } = statSync(folder)
    return uid === 0 && (mode & 0o002) === 0
  } catch {
    return false // missing, or not for us
  }
}

/** The exit code, -1 after a signal. Ends helpers that outlive git: they would keep its pipes open. */
function whenEnded(git: GitProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    git.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT' ? new GitMissingError() : error)
    })
    git.once('exit', () => signalGroup(git, 'SIGKILL'))
    git.once('close', (code) => resolve(code ?? -1))
  })
}

function signalGroup(git: GitProcess, signal: NodeJS.Signals): void {
  if (git.pid === undefined) return
  try {
    process.kill(-git.pid, signal)
  } catch (error) {
    // Already gone. (For a group of zombies, some systems report EPERM.)
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** The end of a stream, where git reports why it failed. */
async function tail(stream: Readable, bytes: number): Promise<string> {
  let end = Buffer.alloc(0)
  for await (const chunk of stream) end = Buffer.concat([end, chunk as Buffer]).subarray(-bytes)
  return end.toString()
}
