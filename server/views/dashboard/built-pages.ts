import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { encodedFile, type StaticFile } from '#platform/http/static-files.ts'

/** Where scripts/build-web.mjs puts them. */
export const BUILT_PAGES = new URL('../../../web/dist/', import.meta.url)

/** The files by their path. */
export type BuiltPages = ReadonlyMap<string, StaticFile>

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
 * Reads the output of scripts/build-web.mjs into memory: a few files, which requests look up by name, so that no URL
 * can reach anything else. Undefined when nothing was built.
 */
export async function readBuiltPages(folder: URL): Promise<BuiltPages | undefined> {
  const contents = await readAll(fileURLToPath(folder))
  if (!contents.has('index.html')) return undefined
  const files = [...contents].filter(([path]) => Object.hasOwn(TYPES, extname(path)))
  return new Map(
    files.map(([path, bytes]): [string, StaticFile] => {
      const encodings = COMPRESSED.flatMap(({ encoding, ending }) => {
        const smaller = contents.get(path + ending)
        return smaller ? [encodedFile(encoding, smaller)] : []
      })
      return [
        path,
        {
          type: TYPES[extname(path)]!,
          isHashed: /^assets\/.*-[\w-]{8}\.\w+$/.test(path),
          encodings: [...encodings, encodedFile(null, bytes)],
        },
      ]
    }),
  )
}

/** The version that the pages were built for; null when nothing was built. */
export async function readPagesVersion(folder = BUILT_PAGES): Promise<string | null> {
  return readFile(new URL('.version', folder), 'utf8').catch(() => null)
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
    // Not built, or being built right now: the next request tries again.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw error
  }
}
