import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

// Starting git: no shell, nothing of Gantry's environment, and nothing left running.

export type GitCall = {
  args: string[]
  /** Always named: a git that searches could find the repository that Gantry itself was started from. */
  repository: string
  /** For this call alone: access to a remote. Allows no remote when left out. */
  environment?: Record<string, string>
  input?: string
  /** Ends git and everything it started; the call then throws the signal's reason, when all of it is gone. */
  signal: AbortSignal
}

export type GitEnd = { code: number; output: string; errors: string }

type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>

const SETTINGS = fileURLToPath(new URL('./git.config', import.meta.url))
const OUTPUT_KEPT = 4 * 1024 * 1024
const ERRORS_KEPT = 16 * 1024
const GRACE_MS = 2_000

export class GitMissingError extends Error {
  override name = 'GitMissingError'
}

/** A short answer, as a text. */
export async function askGit(call: GitCall): Promise<GitEnd> {
  const chunks: Buffer[] = []
  let size = 0
  const { code, errors } = await runGit(call, async (output) => {
    for await (const chunk of output) {
      if (size < OUTPUT_KEPT) chunks.push(chunk)
      size += chunk.length
    }
  })
  return { code, output: Buffer.concat(chunks).toString(), errors }
}

/** `read` is given what git prints, at its own pace. When it throws, git is ended and the fault passed on. */
export async function runGit(
  call: GitCall,
  read: (output: Readable) => Promise<void>,
): Promise<{ code: number; errors: string }> {
  call.signal.throwIfAborted()
  const git = start(call)
  const ended = whenEnded(git)
  let kill: NodeJS.Timeout | undefined
  const stop = () => {
    signalGroup(git, 'SIGTERM') // git removes its unfinished files
    kill ??= setTimeout(() => signalGroup(git, 'SIGKILL'), GRACE_MS)
  }
  call.signal.addEventListener('abort', stop, { once: true })
  const errors = tail(git.stderr, ERRORS_KEPT)
  const reading = read(git.stdout).catch((fault: unknown) => {
    stop()
    git.stdout.destroy()
    throw fault
  })
  // One that ended without reading is heard of through its exit code, not through a broken pipe.
  git.stdin.on('error', () => {}).end(call.input ?? '')
  const [code, done, said] = await Promise.allSettled([ended, reading, errors])
  call.signal.removeEventListener('abort', stop)
  clearTimeout(kill)
  call.signal.throwIfAborted()
  if (code.status === 'rejected') throw code.reason
  if (done.status === 'rejected') throw done.reason
  return { code: code.value, errors: said.status === 'fulfilled' ? said.value : '' }
}

function start(call: GitCall): GitProcess {
  return spawn('git', call.args, {
    cwd: '/',
    env: { ...CLEAN, GIT_DIR: call.repository, ...call.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // a process group of its own, to be ended as a whole
  })
}

const CLEAN = {
  PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
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

/** The exit code, -1 after a signal. Helpers that outlive git are ended first: they would keep its pipes open. */
function whenEnded(git: GitProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    git.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'ENOENT' ? new GitMissingError('git is not installed') : error)
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
    // Gone already. (A group of zombies only: some systems say EPERM.)
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** The end of a stream, which is where git says why it failed. */
async function tail(stream: Readable, bytes: number): Promise<string> {
  let kept = Buffer.alloc(0)
  for await (const chunk of stream) {
    kept = Buffer.concat([kept, chunk as Buffer])
    if (kept.length > bytes) kept = kept.subarray(-bytes)
  }
  return kept.toString()
}
