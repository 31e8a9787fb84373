import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One file of the dashboard, in the forms in which it can be sent. */
export type PageFile = {
  type: string
  /** Its name changes with its content, so that it may be kept for ever. */
  isHashed: boolean
  forms: PageForm[]
}

export type PageForm = { encoding: 'br' | 'gzip' | null; bytes: Buffer; etag: string }

/** The files by their paths below the folder. */
export type BuiltPages = ReadonlyMap<string, PageFile>

/** Best first. */
const COMPRESSED = [
  { encoding: 'br', ending: '.br' },
  { encoding: 'gzip', ending: '.gz' },
] as const

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

/**
 * Reads what scripts/build-web.mjs has made, all of it, into memory: a few files, which requests then look up by
 * name, so that no address can lead anywhere else. Undefined when nothing was built.
 */
export async function readBuiltPages(folder: URL): Promise<BuiltPages | undefined> {
  const contents = await readAll(fileURLToPath(folder))
  if (!contents.has('index.html')) return undefined
  const files = [...contents].filter(([path]) => Object.hasOwn(TYPES, extname(path)))
  return new Map(
    files.map(([path, bytes]): [string, PageFile] => {
      const forms = COMPRESSED.flatMap(({ encoding, ending }) => {
        const smaller = contents.get(path + ending)
        return smaller ? [formOf(encoding, smaller)] : []
      })
      return [
        path,
        {
          type: TYPES[extname(path)]!,
          isHashed: /^assets\/.*-[\w-]{8}\.\w+$/.test(path),
          forms: [...forms, formOf(null, bytes)],
        },
      ]
    }),
  )
}

function formOf(encoding: PageForm['encoding'], bytes: Buffer): PageForm {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 27)
  return { encoding, bytes, etag: `"${digest}"` }
}

async function readAll(folder: string): Promise<Map<string, Buffer>> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    return new Map(
      await Promise.all(
        paths.map(
          async (path) => [relative(folder, path).split(sep).join('/'), await readFile(path)] as const,
        ),
      ),
    )
  } catch (error) {
    // Not built, or just being built: whoever asks next finds out.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw error
  }
}
