import { access, chmod } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The binaries of an older PostgreSQL, as scripts/test-tools.mjs has unpacked them; undefined for the usual ones. */
export async function olderPostgres(major: string | undefined): Promise<string | undefined> {
  if (!major || major === '18') return undefined
  const folder = fileURLToPath(
    new URL(`../../node_modules/.cache/postgresql-${major}/package`, import.meta.url),
  )
  await access(folder).catch(() => {
    throw new Error(`There is no PostgreSQL ${major}: run node scripts/test-tools.mjs --faults`)
  })
  return folder
}

/** Before 16, its programs leave their working directory and come back: the account of the server must be able to. */
export async function homeForOlderPostgres(home: string): Promise<string> {
  await chmod(home, 0o711)
  return home
}
