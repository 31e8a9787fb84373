// A git repository to deploy from, created in a temporary folder and removed after the test.
import { execFile } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { later } from './later.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** A text, an executable, a symbolic link or a commit of a submodule; null removes the file. */
export type FileContent =
  | string
  | Buffer
  | { executable: string }
  | { linkTo: string }
  | { submoduleAt: string }
  | null

export type CommitOptions = {
  /** Default: main. Created by its first commit. */
  branch?: string
  message?: string
  author?: { name: string; email: string }
  /** Seconds since 1970. */
  time?: number
}

export type TestRepository = {
  /** `file:///…/shop.git` */
  address: string
  /** Bare. */
  folder: string
  /** On top of the branch, whose other files stay. Returns the hash. */
  commit(files: Record<string, FileContent>, input?: CommitOptions): Promise<string>
  /** Creates it or moves it. */
  branch(name: string, at: string): Promise<void>
  removeBranch(name: string): Promise<void>
  /** Annotated when it has a message. */
  tag(name: string, at: string, message?: string): Promise<void>
  git(args: string[], input?: string | Buffer): Promise<string>
}

const ZOE = { name: 'Zoë', email: 'zoe@example.com' }
const BORN = 1_793_520_000

export async function makeRepository(
  t: Closer,
  input: {
    name?: string
    files?: Record<string, FileContent>
    hashes?: 'sha1' | 'sha256'
    /** An existing folder for it, which the test removes. */
    parent?: string
  } = {},
): Promise<TestRepository> {
  const parent = input.parent ?? (await makeFolder(t))
  const folder = join(parent, `${input.name ?? 'shop'}.git`)
  await runGit(['init', '-q', '--bare', '-b', 'main', `--object-format=${input.hashes ?? 'sha1'}`, folder])
  const git = (args: string[], input?: string | Buffer) => runGit(['--git-dir', folder, ...args], input)

  const repository: TestRepository = {
    address: pathToFileURL(folder).href,
    folder,
    git,
    async commit(files, { branch = 'main', message = 'A change', author = ZOE, time = BORN } = {}) {
      const ref = `refs/heads/${branch}`
      const exists = (await git(['for-each-ref', ref])) !== ''
      const input = commitStream(files, { ref, message, author, time, exists })
      return git(['fast-import', '--quiet', '--done', '--date-format=raw'], input)
    },
    async branch(name, at) {
      await git(['update-ref', `refs/heads/${name}`, at])
    },
    async removeBranch(name) {
      await git(['update-ref', '-d', `refs/heads/${name}`])
    },
    async tag(name, at, message) {
      await git(['tag', ...(message === undefined ? [] : ['-a', '-m', message]), name, at])
    },
  }
  if (input.files) await repository.commit(input.files, { message: 'Say hello' })
  return repository
}

async function makeFolder(t: Closer): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-repository-')))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  return folder
}

type Commit = Required<Omit<CommitOptions, 'branch'>> & { ref: string; exists: boolean }

/** What `git fast-import` reads: a whole commit in one process, without a working folder. */
function commitStream(files: Record<string, FileContent>, commit: Commit): Buffer {
  const who = `${commit.author.name} <${commit.author.email}> ${commit.time} +0000\n`
  const parts: (string | Buffer)[] = [`commit ${commit.ref}\nmark :1\nauthor ${who}committer ${who}`]
  parts.push(...data(commit.message))
  if (commit.exists) parts.push(`from ${commit.ref}^0\n`)
  for (const [path, file] of Object.entries(files)) {
    if (file === null) parts.push(`D ${path}\n`)
    else if (isSubmodule(file)) parts.push(`M 160000 ${file.submoduleAt} ${path}\n`)
    else parts.push(`M ${modeOf(file)} inline ${path}\n`, ...data(contentOf(file)))
  }
  parts.push('get-mark :1\ndone\n')
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)))
}

function data(content: string | Buffer): (string | Buffer)[] {
  return [`data ${Buffer.byteLength(content)}\n`, content, '\n']
}

type Submodule = Extract<FileContent, { submoduleAt: string }>
type File = Exclude<FileContent, Submodule | null>

function isSubmodule(file: Exclude<FileContent, null>): file is Submodule {
  return typeof file === 'object' && 'submoduleAt' in file
}

function modeOf(file: File): string {
  if (typeof file === 'string' || Buffer.isBuffer(file)) return '100644'
  return 'linkTo' in file ? '120000' : '100755'
}

function contentOf(file: File): string | Buffer {
  if (typeof file === 'string' || Buffer.isBuffer(file)) return file
  return 'linkTo' in file ? file.linkTo : file.executable
}

async function runGit(args: string[], input: string | Buffer = ''): Promise<string> {
  const run = promisify(execFile)('git', args, { env: ENVIRONMENT, maxBuffer: 64 * 1024 * 1024 })
  run.child.stdin?.on('error', () => {}).end(input)
  return (await run).stdout.trim()
}

/** Independent of the account that runs the tests. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: ZOE.name,
  GIT_AUTHOR_EMAIL: ZOE.email,
  GIT_AUTHOR_DATE: `@${BORN} +0000`,
  GIT_COMMITTER_NAME: ZOE.name,
  GIT_COMMITTER_EMAIL: ZOE.email,
  GIT_COMMITTER_DATE: `@${BORN} +0000`,
}
